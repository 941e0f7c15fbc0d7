/**
 * Disabled while its request is under way, a button drops the focus: it has it again afterwards.
 * An answered card takes its buttons away, and the focus falls out of the page: go on at the next
 * card that stands, which reads out what it is and takes no key by itself, else at the content.
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
  /** Only what holds the focus is watched: rows come and go elsewhere all the time. */
  const note = ({ target }: FocusEvent): void => {
    changes.disconnect();
    resting = false;
    at = target instanceof HTMLElement ? target : null;
    for (let holder: Element | null = at; holder; holder = holder.parentElement)
      changes.observe(holder, { childList: true, attributeFilter: ["disabled"] });
  };
  addEventListener("focusin", note);
}
