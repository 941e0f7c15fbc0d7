/**
 * An answered card takes its buttons away, and the focus falls out of the page: go on at the next
 * card that stands, which reads out what it is and takes no key by itself, else at the content.
 * Returns how to end it.
 */
export function keepFocus(content: HTMLElement): () => void {
  let at: Element | null = null;
  const note = ({ target }: FocusEvent): void => {
    at = target instanceof Element ? target : null;
  };
  const removals = new MutationObserver(() => {
    if (at === null || at.isConnected) return;
    at = null;
    if (document.activeElement !== document.body) return;
    const next = content.querySelector<HTMLElement>("article[data-card]") ?? content;
    next.tabIndex = -1;
    next.focus({ preventScroll: true });
  });
  addEventListener("focusin", note);
  removals.observe(document.body, { childList: true, subtree: true });
  return () => {
    removeEventListener("focusin", note);
    removals.disconnect();
  };
}
