/** How wide the screen is, in the three layouts. */
import { MediaQuery } from "svelte/reactivity";

/** A phone however it is held: on its side it is as wide as a tablet, and has no room for two lists. */
const phone = new MediaQuery(
  "(max-width: 47.499em), (max-width: 62.499em) and (max-height: 29.999em)",
);
/** The rail has no words: a table of many columns has no room beside a list of pages. */
const narrow = new MediaQuery("max-width: 68.749em");
/** Room for a list and what stands in it side by side. */
const wide = new MediaQuery("min-width: 80em");
/** Room for a whole summary above a list, */
const tall = new MediaQuery("min-height: 52.5em");
/** and for charts besides. */
const veryTall = new MediaQuery("min-height: 65em");

export const media = {
  get isPhone(): boolean {
    return phone.current;
  },
  get isNarrow(): boolean {
    return narrow.current;
  },
  get isTall(): boolean {
    return tall.current;
  },
  get isVeryTall(): boolean {
    return veryTall.current;
  },
  get isWide(): boolean {
    return wide.current;
  },
};
