/** Bring what is chosen into sight in a row that scrolls sideways: `{@attach chosen && intoView}`. */
export function intoView(element: Element): void {
  element.scrollIntoView({ block: "nearest", inline: "center" });
}
