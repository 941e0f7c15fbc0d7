/**
 * Keep the keyboard focus. A button that is disabled during its request loses the focus and gets
 * it back afterwards. An answered card removes its buttons with the focus: it then moves to the
 * next card, which is read out and reacts to no key by itself, or else to the content.
 */
export function keepFocus(): void {
  let at: HTMLElement | null = null;
  let resting = false;
  const changes = new MutationObserver(() => {
    if (at === null) return;
    const isLost = document.activeElement === document.body;
    if (at.isConnected) {
      const isOff = at.matches(":disabled");
      if (resting && isLost && !isOff) at.focus();
      resting = isOff && (resting || !isLost);
      return;
    }
    at = null;
    if (!isLost) return;
    const seek = (what: string) => document.querySelector<HTMLElement>(what);
    const next = seek("main article[data-card]") ?? seek("main");
    if (!next) return;
    next.tabIndex = -1;
    next.focus({ preventScroll: true });
  });
  /** Watch only the focused element: elsewhere rows are added and removed all the time. */
  const note = ({ target }: FocusEvent): void => {
    changes.disconnect();
    resting = false;
    at = target instanceof HTMLElement ? target : null;
    for (let holder: Element | null = at; holder; holder = holder.parentElement)
      changes.observe(holder, { childList: true, attributeFilter: ["disabled"] });
  };
  addEventListener("focusin", note);
}
