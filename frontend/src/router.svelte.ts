/** The current address. Links are plain anchors, whose clicks are handled here. */
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

  /** Increases with each navigation: by a link, a notification, back or forward. */
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

  /** Change the address without a new entry in the history, as filters do. */
  replace(path: string): void {
    history.replaceState(history.state, "", path);
    this.#read();
  }

  /** Store something with the current entry of the history. */
  note(what: Record<string, unknown>): void {
    history.replaceState({ ...history.state, ...what }, "");
  }

  /** Go back to where the person came from, or to `fallback` if that was another site. */
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
