/**
 * An answered card takes its buttons away, and the focus falls out of the page: go on at the next
 * card that stands, which reads out what it is and takes no key by itself, else at the content.
 * Returns how to end it.
 */
export function keepFocus(content: HTMLElement): () => void {
  let at: Element | null = null;
  const removals = new MutationObserver(() => {
    if (at === null || at.isConnected) return;
    at = null;
    if (document.activeElement !== document.body) return;
    const next = content.querySelector<HTMLElement>("article[data-card]") ?? content;
    next.tabIndex = -1;
    next.focus({ preventScroll: true });
  });
  /** Only what holds the focus is watched: rows come and go elsewhere all the time. */
  const note = ({ target }: FocusEvent): void => {
    removals.disconnect();
    at = target instanceof Element ? target : null;
    for (let holder = at?.parentElement; holder; holder = holder.parentElement)
      removals.observe(holder, { childList: true });
  };
  addEventListener("focusin", note);
  return () => {
    removeEventListener("focusin", note);
    removals.disconnect();
  };
}
