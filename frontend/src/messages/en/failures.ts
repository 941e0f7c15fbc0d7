/** Why a message did not arrive, in the words that the server keeps with its delivery. */

const texts = {
  /** Without a full stop: it stands within other sentences. */
  sentence: (text: string) => text.replace(/\.$/, ""),
};
export default texts;
