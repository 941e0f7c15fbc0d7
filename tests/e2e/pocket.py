"""A phone in a pocket: the installed app in Chromium, and the push service that finds it.

Chromium here has no push service of Google's. The page is given a subscription of ours;
what our server pushes there, encrypted and signed, is checked and decrypted as a browser
would, and handed to the real service worker by the same door a browser uses (CDP). Notifications
are looked at in turn with our page and worker: see frontend/src/push/notifications.ts.
"""

from __future__ import annotations

import json
from typing import Any

from playwright.sync_api import Page

from tests.installations import Installation, wait_for
from tests.push_service import PushService, Subscription

READY = "navigator.serviceWorker.ready.then(() => !!navigator.serviceWorker.controller)"
SUBSCRIBE = """said => {
  const made = { endpoint: said.endpoint, options: { applicationServerKey: null },
                 toJSON: () => said, unsubscribe: async () => { kept = null; return true; } };
  let kept = null;
  PushManager.prototype.subscribe = async () => (kept = made);
  PushManager.prototype.getSubscription = async () => kept;
}"""
SHOWN = """async () => {
  const shown = await navigator.locks.request(
    "notifications", () => self.registration.getNotifications());
  return shown.map(({ title, body, tag, lang, silent, actions, data }) => (
    { title, body, tag, lang, silent, actions: actions.map(({ title }) => title), data }));
}"""
CLICK = """async ({ tag, action }) => {
  const [notification] = await navigator.locks.request(
    "notifications", () => self.registration.getNotifications({ tag }));
  const event = new NotificationEvent("notificationclick", { notification, action });
  const waited = [];
  event.waitUntil = (work) => waited.push(work); // only the browser's own events may wait
  self.dispatchEvent(event);
  await Promise.all(waited);
}"""


class Pocket:
    """One page of the installed app, its worker, and its subscription."""

    def __init__(self, page: Page, installation: Installation, service: PushService) -> None:
        self.page, self.installation, self.service = page, installation, service
        key = installation.get("/api/v1/devices/reach/")["push_key"]
        self.subscription: Subscription = service.subscribe(key)
        subscription = {"endpoint": self.subscription.endpoint, "keys": self.subscription.keys}
        page.add_init_script(f"({SUBSCRIBE})({json.dumps(subscription)})")

    def open(self, path: str = "/") -> None:
        """Go somewhere with the worker in charge."""
        self.page.goto(self.installation.url + path)
        wait_for(lambda: self.page.evaluate(READY))

    def allow(self, allow: str = "Allow notifications", stop: str = "Turn off here") -> None:
        """Allow notifications, as a thumb does, by the buttons' names in its language."""
        self.open("/settings/devices")
        on, off = (self.page.get_by_role("button", name=name) for name in (allow, stop))
        on.or_(off).wait_for()
        if off.is_visible():  # an earlier phone of the same session
            off.tap()
        on.tap()
        off.wait_for()
        self.registration = self._registration()

    def receive(self, kind: str) -> dict[str, Any]:
        """Wait for a push of a kind and hand it to the service worker."""
        pushed = self.service.next_push(self.subscription, kind)
        self.deliver(json.dumps(pushed))
        return pushed

    def deliver(self, data: str) -> None:
        """Push to the worker as the browser does."""
        cdp = self.page.context.new_cdp_session(self.page)
        cdp.send("ServiceWorker.enable")
        push = {"origin": self.installation.url, "registrationId": self.registration, "data": data}
        cdp.send("ServiceWorker.deliverPushMessage", push)
        cdp.detach()

    def _registration(self) -> str:
        """Return the worker's registration, as the browser numbers it."""
        cdp = self.page.context.new_cdp_session(self.page)
        known: list[str] = []
        cdp.on(
            "ServiceWorker.workerRegistrationUpdated",
            lambda event: known.extend(
                one["registrationId"]
                for one in event["registrations"]
                if one["scopeURL"].startswith(self.installation.url)
            ),
        )
        cdp.send("ServiceWorker.enable")
        while not known:
            self.page.wait_for_timeout(20)
        cdp.detach()
        return known[-1]

    def shown(self) -> list[dict[str, Any]]:
        """Return the notifications that stand on the lock screen."""
        found: list[dict[str, Any]] = self.page.context.service_workers[0].evaluate(SHOWN)
        return found

    def wait_for_shown(self, **wanted: Any) -> dict[str, Any]:
        """Wait for a notification that is like this."""

        def like() -> dict[str, Any] | None:
            return next((n for n in self.shown() if wanted.items() <= n.items()), None)

        found: dict[str, Any] = wait_for(like, shown=self.shown)
        return found

    def click(self, tag: str, action: str = "") -> None:
        """Tap a notification, or the button of that number on it."""
        self.page.context.service_workers[0].evaluate(CLICK, {"tag": tag, "action": action})

    def put_away(self) -> None:
        """Leave the app: another page is in front, none of ours is in sight."""
        self.page.goto("about:blank")
