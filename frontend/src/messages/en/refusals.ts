/** Why the server did not take a write, in the words that it answers with. */
const texts = {
  sentence: (refusal: { code: string; message: string; body?: Record<string, unknown> }) =>
    refusal.message,
};
export default texts;
