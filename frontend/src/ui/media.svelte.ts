/** How wide the screen is, in the three layouts of LANGUAGE "Layout". */
import { MediaQuery } from "svelte/reactivity";

const phone = new MediaQuery("max-width: 759.98px");

export const media = {
  get isPhone(): boolean {
    return phone.current;
  },
};
