/**
 * This page and its service worker: installed once, asked for news now and then.
 *
 * A newer build waits until the person takes it, since a reload would lose what they
 * are writing. Without HTTPS (and not on this machine) browsers offer no worker.
 */

import { router } from "../router.svelte";

const ASK_AGAIN_MS = 30 * 60_000;

class Installation {
  #registration = $state.raw<ServiceWorkerRegistration | null>(null);
  #waiting = $state.raw<ServiceWorker | null>(null);
  #refused = $state(false);
  #askedAt = 0;

  /** A newer version is ready and would begin with a reload. */
  get hasNewer(): boolean {
    return this.#waiting !== null;
  }

  get registration(): ServiceWorkerRegistration | null {
    return this.#registration;
  }

  /** This browser starts no worker: the certificate is not trusted, or the window is private. */
  get isRefused(): boolean {
    return this.#refused;
  }

  async begin(): Promise<void> {
    if (!("serviceWorker" in navigator)) return;
    try {
      this.#follow(await navigator.serviceWorker.register("/sw.js"));
    } catch {
      this.#refused = true; // the app works without
      return;
    }
    document.addEventListener("visibilitychange", () => this.#lookForNews());
  }

  /** Go where a tap on a notification leads. */
  hear(): void {
    if (!("serviceWorker" in navigator)) return;
    navigator.serviceWorker.addEventListener("message", ({ data }) => goWhereTold(data));
  }

  /** Take the newer version: its worker takes over, and the page begins again. */
  takeNewer(): void {
    navigator.serviceWorker.addEventListener("controllerchange", () => location.reload(), {
      once: true,
    });
    this.#waiting?.postMessage("take over");
  }

  #follow(registration: ServiceWorkerRegistration): void {
    this.#registration = registration;
    this.#askedAt = Date.now();
    this.#note(registration.waiting);
    registration.addEventListener("updatefound", () => {
      const fresh = registration.installing;
      fresh?.addEventListener("statechange", () => this.#note(registration.waiting));
    });
  }

  /** The very first worker replaces nothing: there is no newer version then. */
  #note(waiting: ServiceWorker | null): void {
    if (navigator.serviceWorker.controller) this.#waiting = waiting;
  }

  #lookForNews(): void {
    if (document.hidden || Date.now() - this.#askedAt < ASK_AGAIN_MS) return;
    this.#askedAt = Date.now();
    void this.#registration?.update().catch(() => undefined);
  }
}

export const installation = new Installation();

/** A click on a notification brought this page to the front: it shows the card. */
function goWhereTold(data: unknown): void {
  const path = typeof data === "object" && data !== null && "path" in data ? data.path : null;
  if (typeof path === "string" && path.startsWith("/")) router.go(path);
}
