/** Why the server did not take a write, in the words that it answers with. */
const texts = {
  sentence: (refusal: { code: string; message: string }) => refusal.message,
};
export default texts;
