/**
 * This page's service worker: registered once, and checked for updates now and then.
 *
 * A newer build waits until the person accepts it, because a reload would lose what they
 * are writing. Browsers offer workers only on HTTPS or localhost.
 */

import { router } from "../router.svelte";

const CHECK_EVERY_MS = 30 * 60_000;

class ServiceWorkerState {
  #registration = $state.raw<ServiceWorkerRegistration | null>(null);
  #waiting = $state.raw<ServiceWorker | null>(null);
  #refused = $state(false);
  #checkedAt = 0;

  /** Whether a newer version is ready, which needs a reload. */
  get hasUpdate(): boolean {
    return this.#waiting !== null;
  }

  get registration(): ServiceWorkerRegistration | null {
    return this.#registration;
  }

  /** Whether the browser refuses the worker: untrusted certificate, or a private window. */
  get isRefused(): boolean {
    return this.#refused;
  }

  async register(): Promise<void> {
    if (!("serviceWorker" in navigator)) return;
    try {
      this.#watch(await navigator.serviceWorker.register("/sw.js"));
    } catch {
      this.#refused = true; // the app works without a worker
      return;
    }
    document.addEventListener("visibilitychange", () => this.#checkForUpdate());
  }

  /** Follow the links of notifications that are tapped. */
  followClicks(): void {
    if (!("serviceWorker" in navigator)) return;
    navigator.serviceWorker.addEventListener("message", ({ data }) => openNotificationPath(data));
  }

  /** Switch to the newer version: its worker takes over, and the page reloads. */
  activateUpdate(): void {
    navigator.serviceWorker.addEventListener("controllerchange", () => location.reload(), {
      once: true,
    });
    this.#waiting?.postMessage("take over");
  }

  #watch(registration: ServiceWorkerRegistration): void {
    this.#registration = registration;
    this.#checkedAt = Date.now();
    this.#noteWaiting(registration.waiting);
    registration.addEventListener("updatefound", () => {
      const fresh = registration.installing;
      fresh?.addEventListener("statechange", () => this.#noteWaiting(registration.waiting));
    });
  }

  /** Note a waiting worker; the very first one replaces nothing and is no newer version. */
  #noteWaiting(waiting: ServiceWorker | null): void {
    if (navigator.serviceWorker.controller) this.#waiting = waiting;
  }

  #checkForUpdate(): void {
    if (document.hidden || Date.now() - this.#checkedAt < CHECK_EVERY_MS) return;
    this.#checkedAt = Date.now();
    void this.#registration?.update().catch(() => undefined);
  }
}

export const serviceWorker = new ServiceWorkerState();

/** Show the card of the notification whose click brought this page to the front. */
function openNotificationPath(data: unknown): void {
  const path = typeof data === "object" && data !== null && "path" in data ? data.path : null;
  if (typeof path === "string" && path.startsWith("/")) router.go(path);
}
