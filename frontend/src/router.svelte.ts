/** Where the person is. Links are plain anchors; this takes their clicks. */
import { routeOf, type Route } from "./route";

class Router {
  #path = $state.raw(location.pathname);
  #search = $state.raw(location.search);
  readonly #route = $derived(routeOf(this.#path));
  #arrivals = $state.raw(0);
  #depth = 0;

  constructor() {
    addEventListener("popstate", () => this.#arrive());
    document.addEventListener("click", (event) => this.#take(event));
  }

  get route(): Route {
    return this.#route;
  }

  get search(): URLSearchParams {
    return new URLSearchParams(this.#search);
  }

  /** Grows with each step to an address: by a link, a notification, back or forward. */
  get arrivals(): number {
    return this.#arrivals;
  }

  go(path: string): void {
    if (path === location.pathname + location.search) return;
    this.#depth++;
    history.pushState(null, "", path);
    this.#arrive();
    scrollTo(0, 0);
  }

  /** Change the address without a step in the history, as filters do. */
  replace(path: string): void {
    history.replaceState(history.state, "", path);
    this.#read();
  }

  /** Keep something with the present step of the history. */
  note(what: Record<string, unknown>): void {
    history.replaceState({ ...history.state, ...what }, "");
  }

  /** Back to where the person came from, or to `fallback` when that was outside. */
  back(fallback: string): void {
    if (this.#depth === 0) return this.replace(fallback);
    this.#depth--;
    history.back();
  }

  #arrive(): void {
    this.#read();
    this.#arrivals++;
  }

  #read(): void {
    this.#path = location.pathname;
    this.#search = location.search;
  }

  #take(event: MouseEvent): void {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    if (!link || link.target || link.origin !== location.origin || link.hasAttribute("download")) {
      return;
    }
    event.preventDefault();
    this.go(link.pathname + link.search);
  }
}

export const router = new Router();
