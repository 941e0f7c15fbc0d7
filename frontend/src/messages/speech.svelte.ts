/**
 * The language of the screens: the browser's, until a person selects one on this device.
 *
 * The code contains no texts. Each language has one chunk with the texts of every screen, loaded
 * before anything is drawn, and one chunk for each view, loaded with its screen.
 */
export const LANGUAGES = { en: "English", de: "Deutsch" } as const;
export type Language = keyof typeof LANGUAGES;
export const LANGUAGE_OPTIONS = [
  ["en", LANGUAGES.en],
  ["de", LANGUAGES.de],
] as const;

/** Texts, by the name of their view. */
export type Catalogue = Readonly<Record<string, object>>;
/** Texts, by file. Whole modules, because a text called `then` would make a view awaitable. */
export type Views = Readonly<Record<string, () => Promise<{ default: object }>>>;

const SOURCE = "en";
const STORED = "missioncontrol.language";
const FIRST: Record<Language, () => Promise<{ catalogue: Catalogue; views: Views }>> = {
  en: () => import("./en"),
  de: () => import("./de"),
};
/** In every language, dates begin with the day and times have 24 hours. */
const LOCALES = {
  en: { numbers: "en-US", dates: "en-GB" },
  de: { numbers: "de-DE", dates: "de-DE" },
} as const;

class Speech {
  #language = $state.raw<Language>(SOURCE);
  #loaded = $state.raw<Readonly<Record<Language, Catalogue>>>({ en: {}, de: {} });

  get language(): Language {
    return this.#language;
  }

  get numbers(): string {
    return LOCALES[this.#language].numbers;
  }

  get dates(): string {
    return LOCALES[this.#language].dates;
  }

  /** Return the texts of a view in the selected language; they are loaded before its screen. */
  texts(view: string): object {
    const texts = this.#loaded[this.#language][view];
    if (!texts) throw new Error(`the texts of ${view} are not loaded: see screens.ts`);
    return texts;
  }

  /** Use the language selected on this device, else the browser's; English if that fails. */
  async begin(): Promise<void> {
    this.#language = stored() ?? preferred(navigator.languages);
    try {
      await this.have([]);
    } catch {
      this.#language = SOURCE;
      await this.have([]);
    }
    document.documentElement.lang = this.#language;
  }

  /** Select a language for this device; selecting the browser's own follows the browser again. */
  async choose(language: Language): Promise<void> {
    await this.#load(language, () => Object.keys(this.#loaded[this.#language]));
    store(language === preferred(navigator.languages) ? null : language);
    this.#language = language;
    document.documentElement.lang = language;
  }

  /** Load the texts of some views, in addition to those of every screen. */
  async have(views: readonly string[]): Promise<void> {
    const language = this.#language;
    await this.#load(language, () => views);
    if (language !== this.#language) await this.have(views);
  }

  /** `views` is called again after each wait, because another screen may have opened meanwhile. */
  async #load(language: Language, views: () => readonly string[]): Promise<void> {
    const { catalogue, views: files } = await FIRST[language]();
    if (!("shell" in this.#loaded[language])) this.#keep(language, catalogue);
    for (;;) {
      const missing = views().filter((view) => !(view in this.#loaded[language]));
      if (missing.length === 0) return;
      this.#keep(language, Object.fromEntries(await Promise.all(missing.map(textsIn(files)))));
    }
  }

  #keep(language: Language, texts: Catalogue): void {
    this.#loaded = { ...this.#loaded, [language]: { ...this.#loaded[language], ...texts } };
  }
}

export const speech = new Speech();

/** Return the first of a browser's languages that has a catalogue. */
export function preferred(wanted: readonly string[]): Language {
  return (
    wanted.map((tag) => named(tag.split("-")[0] ?? "")).find((language) => language !== null) ??
    SOURCE
  );
}

/** Return a view's texts; each is looked up when read, so that a new language redraws it. */
export function view<Texts extends object>(name: string): Texts;
export function view(name: string): object {
  return new Proxy({}, { get: (_, key): unknown => Reflect.get(speech.texts(name), key) });
}

function textsIn(files: Views): (view: string) => Promise<[string, object]> {
  return async (view) => {
    const load = files[`./${view}.ts`];
    if (!load) throw new Error(`no view is called ${view}`);
    return [view, (await load()).default];
  };
}

function named(name: string): Language | null {
  return name === "en" || name === "de" ? name : null;
}

function stored(): Language | null {
  try {
    return named(localStorage.getItem(STORED) ?? "");
  } catch {
    return null; // storage may be off in private windows
  }
}

function store(language: Language | null): void {
  try {
    if (language) localStorage.setItem(STORED, language);
    else localStorage.removeItem(STORED);
  } catch {
    // then the choice lasts as long as the page
  }
}
