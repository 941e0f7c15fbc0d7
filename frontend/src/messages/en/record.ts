/** What the guard wrote down, in the words it wrote: its sentences and its own judge's reasons. */

const texts = {
  sentence: (text: string) => text,
};
export default texts;
