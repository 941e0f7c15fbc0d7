/** Settings, Devices: pushes on this browser, pairing a phone, every signed-in browser. */
import { strong } from "../strong";

const texts = {
  failed: "Your devices could not be loaded.",
  problem: "The server could not be reached; nothing was changed.",
  here: {
    title: "Notifications on this device",
    on: "On. Cards that need you arrive here at once.",
    off: "Off. Cards that need you wait until you look.",
    insecure: "This address is plain HTTP, where browsers do not allow notifications.",
    homeScreen:
      "On an iPhone, first add this page to the home screen: Share, then Add to Home Screen. Open it from there.",
    unsupported: "This browser does not support notifications.",
    noWorker:
      "This browser does not trust the certificate of this address yet (or the window is private): no notifications until it does.",
    denied: "Notifications are blocked for this page. Unblock them in the browser’s settings.",
    noKey: "This installation has no push key: its operator sets VAPID_PRIVATE_KEY.",
    allow: "Allow notifications",
    allowSecond: "the browser asks you once",
    stop: "Turn off here",
    failed: "The browser’s push service returned no address. Is this device online?",
    refused: "Notifications were not allowed.",
  },
  pair: {
    title: "Pair a phone",
    another: "Pair another phone",
    show: "Show the code",
    left: (span: string) => `works once, ${span} left`,
    over: "This code is no longer valid.",
    steps: [
      {
        first: "Point the phone’s camera at the code.",
        then: "It opens Mission Control, signed in as you. No password.",
      },
      {
        first: "Add it to the home screen.",
        then: "iPhone: Share, then Add to Home Screen. Push needs this there. Android: Install.",
      },
      { first: "Allow notifications.", then: "Send it a test, and you are done." },
    ],
    qr: "A QR code for the phone’s camera: a link that signs in once",
    noCamera: "No camera?",
    at: (url: string) => `at ${url}`,
    fresh: "New code",
    paired: (name: string) => `${name} is paired.`,
    pairedText: "It is signed in as you. Allow notifications there, then send it a test.",
    none: "Phones cannot reach this address.",
    noneText: (command: string) =>
      `Mission Control is reachable from this machine only. Start it with ${strong(command)} and come back.`,
  },
  door: {
    closed: "Phones cannot reach this machine yet.",
    opens: (port: number) =>
      `This opens HTTPS on ${port === 0 ? "a free port" : `port ${String(port)}`} of this machine to your local network, with a certificate of its own. Only people who signed in see anything, and you can turn it off here at any time.`,
    open: "Reach this from my phone",
    opening: "Opening…",
    isOpen: (port: string) => `HTTPS on port ${port} is open to your local network.`,
    close: "Turn it off",
    failed: (why: string) => `It could not be opened: ${why}`,
  },
  reach: {
    plain: "This address is plain HTTP.",
    plainText:
      "Others on the network can read the traffic. The phone shows everything, but it cannot be installed, gets no push notifications and does not start offline: browsers allow that over HTTPS only. Start with --https, or put a proxy or Tailscale in front.",
    own: "This address uses a certificate made by this machine.",
    ownText:
      "The phone warns once. Push and installation work only where the certificate is trusted: trust it, or put a proxy or Tailscale in front. Without either the phone still shows everything, but gets no push notifications.",
    how: "How to trust it",
    hide: "Hide",
    fetch: "Fetch the certificate",
    check: "Compare its SHA-256 with this one and with what the terminal printed:",
    ways: [
      {
        where: "Android",
        how: "Settings, Security, Encryption & credentials, Install a certificate, CA certificate.",
      },
      {
        where: "iPhone",
        how: "Open it in Safari and allow the profile; Settings, General, VPN & Device Management, install it; then General, About, Certificate Trust Settings, turn it on.",
      },
    ],
    limits: "It is valid for this machine’s own names and private addresses only.",
  },
  list: {
    title: "Your devices",
    switchHint: "the switch controls push on that device",
    called: (name: string) => name,
    thisOne: "this one",
    now: "now",
    seen: (span: string) => `${span} ago`,
    lastPush: (at: string) => `push delivered ${at}`,
    failedPush: (at: string, why: string) => `push of ${at} was not delivered${why && `: ${why}`}`,
    reports: "Daily report",
    reportsHint: "What each day cost, after midnight in its project's time zone.",
    noPushYet: "no push yet",
    noPush: "push not supported",
    outdated: "subscribed with an older key: allow notifications there again",
    quiet: (from: string, to: string) => `quiet ${from} – ${to}`,
    push: (name: string) => `Push on ${name}`,
    more: (name: string) => `More about ${name}`,
    name: "Name",
    details: "Show details",
    detailsHint: "Off: notifications show their title only.",
    quietHours: "Quiet hours",
    quietHint: (zone: string) => `In ${zone}. Cards wait until they end.`,
    from: "from",
    to: "to",
    save: "Save",
    test: "Send a test",
    tested: "Sent. It should arrive in a moment.",
    signOut: "Sign out",
    signOutSecond: "ends its session, closes its notifications",
    signOutHere: "Sign out here",
  },
};
export default texts;
