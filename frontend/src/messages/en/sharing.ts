/** Links that show one run, card or week of costs to whoever has them. */

const texts = {
  about:
    "Whoever has the link sees the name, the status, the figures and the chart, and nothing else: no turns, nothing to tap. It is not listed by search engines.",
  life: "Expires after",
  days: (n: number) => (n === 1 ? "1 day" : `${String(n)} days`),
  make: "Create link",
  making: "Creating…",
  link: "Link",
  once: "Copy it now: it is not shown again.",
  local: "Only this machine can open this address. Set a public address to send it to others.",
  picture: "Picture (PNG)",
  live: "Links in use",
  until: (who: string, day: string) => `by ${who}, expires ${day}`,
  revoke: "Revoke",
  revokeOf: (about: string) => `Revoke the link: ${about}`,
  revoked: "Link revoked.",
  close: "Close",
  failed: "The link could not be created.",
  notRevoked: "The link could not be revoked.",
  allHint:
    "Whoever has one of these links sees what it names, without signing in. Share, on a run, a card or a week’s costs, creates one.",
  none: "No link is in use.",
  more: "More",
  things: {
    run: (name: string) => `Run ${name}`,
    decision: (name: string) => `Card of ${name}`,
    costs: (day: string) => `Costs of the week of ${day}`,
  },
  notLoaded: "The links in use could not be loaded.",
};
export default texts;
