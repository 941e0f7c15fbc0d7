/** How wide the screen is, in the three layouts. */
import { MediaQuery } from "svelte/reactivity";

const phone = new MediaQuery("max-width: 759.98px");
/** Room for a list and what stands in it side by side. */
const wide = new MediaQuery("min-width: 1280px");
/** Room for a whole summary above a list, */
const tall = new MediaQuery("min-height: 840px");
/** and for charts besides. */
const veryTall = new MediaQuery("min-height: 1040px");

export const media = {
  get isPhone(): boolean {
    return phone.current;
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
