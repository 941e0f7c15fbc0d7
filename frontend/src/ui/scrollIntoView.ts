/** Scroll the selected element of a row into view: `{@attach chosen && scrollIntoView}`. */
export function scrollIntoView(element: Element): void {
  element.scrollIntoView({ block: "nearest", inline: "center" });
}
