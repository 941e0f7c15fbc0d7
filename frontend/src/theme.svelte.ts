/** Dark or light: the system's choice until a person makes one. */

export type Theme = "dark" | "light";

const STORED = "missioncontrol.theme";
const SYSTEM = matchMedia("(prefers-color-scheme: light)");

class Look {
  #chosen = $state.raw<Theme | null>(storedTheme());
  #system = $state.raw<Theme>(SYSTEM.matches ? "light" : "dark");

  constructor() {
    SYSTEM.addEventListener("change", () => {
      this.#system = SYSTEM.matches ? "light" : "dark";
      this.#apply();
    });
    this.#apply();
  }

  get theme(): Theme {
    return this.#chosen ?? this.#system;
  }

  toggle(): void {
    const next = this.theme === "dark" ? "light" : "dark";
    // Choosing what the system says anyway means following it again.
    this.#chosen = next === this.#system ? null : next;
    store(this.#chosen);
    this.#apply();
  }

  #apply(): void {
    const root = document.documentElement;
    // Chips and buttons would fade a while after all else has changed, faint ink on a faint ground.
    root.classList.add("still");
    root.dataset.theme = this.theme;
    void getComputedStyle(root).color; // the new colours are taken before transitions return
    root.classList.remove("still");
    const ground = this.theme === "dark" ? "#0c0d0f" : "#f6f6f4";
    document.querySelector('meta[name="theme-color"]')?.setAttribute("content", ground);
  }
}

function storedTheme(): Theme | null {
  const value = read();
  return value === "dark" || value === "light" ? value : null;
}

function read(): string | null {
  try {
    return localStorage.getItem(STORED);
  } catch {
    return null; // storage may be off in private windows
  }
}

function store(theme: Theme | null): void {
  try {
    if (theme) localStorage.setItem(STORED, theme);
    else localStorage.removeItem(STORED);
  } catch {
    // the choice then lasts as long as the page
  }
}

export const look = new Look();
