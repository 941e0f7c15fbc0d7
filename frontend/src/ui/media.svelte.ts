/** The size of the screen, for the three layouts. */
import { MediaQuery } from "svelte/reactivity";

/** A phone in either orientation: on its side it is wide, but has no space for two lists. */
const phone = new MediaQuery(
  "(max-width: 47.499em), (max-width: 62.499em) and (max-height: 29.999em)",
);
/** The rail shows only icons, and tables of many columns have no space beside a list of pages. */
const narrow = new MediaQuery("max-width: 68.749em");
/** Space for a list and the selected item side by side. */
const wide = new MediaQuery("min-width: 80em");
/** Space for a whole summary above a list. */
const tall = new MediaQuery("min-height: 52.5em");
/** Space for a whole summary and charts above a list. */
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
