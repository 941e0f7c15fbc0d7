/** Dark or light: the system's setting until a person chooses one. */

export type Theme = "dark" | "light";

const STORED = "missioncontrol.theme";
const SYSTEM = matchMedia("(prefers-color-scheme: light)");

class ThemeChoice {
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
    // Choosing the setting of the system means following the system again.
    this.#chosen = next === this.#system ? null : next;
    store(this.#chosen);
    this.#apply();
  }

  #apply(): void {
    const root = document.documentElement;
    // Without transitions: chips and buttons would fade longer than the rest, and be unreadable.
    root.classList.add("still");
    root.dataset.theme = this.theme;
    void getComputedStyle(root).color; // apply the new colours before transitions are back
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
    // then the choice lasts as long as the page
  }
}

export const themeChoice = new ThemeChoice();
