/** Where the person is. Links are plain anchors; this takes their clicks. */
import { routeOf, type Route } from "./route";

class Router {
  #path = $state.raw(location.pathname);
  #search = $state.raw(location.search);
  readonly #route = $derived(routeOf(this.#path));
  #depth = 0;

  constructor() {
    addEventListener("popstate", () => this.#read());
    document.addEventListener("click", (event) => this.#take(event));
  }

  get route(): Route {
    return this.#route;
  }

  get search(): URLSearchParams {
    return new URLSearchParams(this.#search);
  }

  go(path: string): void {
    if (path === location.pathname + location.search) return;
    this.#depth++;
    history.pushState(null, "", path);
    this.#read();
    scrollTo(0, 0);
  }

  /** Change the address without a step in the history, as filters do. */
  replace(path: string): void {
    history.replaceState(null, "", path);
    this.#read();
  }

  /** Back to where the person came from, or to `fallback` when that was outside. */
  back(fallback: string): void {
    if (this.#depth === 0) return this.replace(fallback);
    this.#depth--;
    history.back();
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
