/**
 * The language of the screens: the browser's, until a person chooses one on this device.
 *
 * No language comes with the code. What every screen says is one chunk of a language, loaded
 * before anything is drawn; the texts of one view are a chunk each, loaded with its screen.
 */
export const LANGUAGES = { en: "English", de: "Deutsch" } as const;
export type Language = keyof typeof LANGUAGES;
export const LANGUAGE_OPTIONS = [
  ["en", LANGUAGES.en],
  ["de", LANGUAGES.de],
] as const;

/** Texts by the name of their view. */
export type Catalogue = Readonly<Record<string, object>>;
/** Texts by their file. Whole modules: a view may have a text called `then`, and would be awaited itself. */
export type Views = Readonly<Record<string, () => Promise<{ default: object }>>>;

const SOURCE = "en";
const STORED = "missioncontrol.language";
const FIRST: Record<Language, () => Promise<{ catalogue: Catalogue; views: Views }>> = {
  en: () => import("./en"),
  de: () => import("./de"),
};
/** Dates say the day first and count 24 hours, in every language. */
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

  /** The texts of a view in the language spoken, which are there before its screen is. */
  texts(view: string): object {
    const texts = this.#loaded[this.#language][view];
    if (!texts) throw new Error(`the texts of ${view} are not loaded: see screens.ts`);
    return texts;
  }

  /** Speak what this device chose, else what the browser asks for; English where that fails. */
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

  /** Choose a language for this device; the browser's own choice is followed again. */
  async choose(language: Language): Promise<void> {
    await this.#load(language, () => Object.keys(this.#loaded[this.#language]));
    store(language === preferred(navigator.languages) ? null : language);
    this.#language = language;
    document.documentElement.lang = language;
  }

  /** Have the texts of some views, beside those that every screen says. */
  async have(views: readonly string[]): Promise<void> {
    const language = this.#language;
    await this.#load(language, () => views);
    if (language !== this.#language) await this.have(views);
  }

  /** `views` is asked again after each wait: another screen may have come meanwhile. */
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

/** The first of a browser's languages that there is a catalogue for. */
export function preferred(wanted: readonly string[]): Language {
  return (
    wanted.map((tag) => named(tag.split("-")[0] ?? "")).find((language) => language !== null) ??
    SOURCE
  );
}

/** A view's texts: each is looked up when it is read, so a change of language redraws it. */
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
    // the choice then lasts as long as the page
  }
}
