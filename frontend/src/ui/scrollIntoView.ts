/** Scroll the selected element of a horizontal row into view: `{@attach chosen && intoView}`. */
export function scrollIntoView(element: Element): void {
  element.scrollIntoView({ block: "nearest", inline: "center" });
}
