/**
 * The language of the screens: the browser's, until a person chooses one on this device.
 *
 * English is the source and comes with each view. Another language is one lazy chunk,
 * loaded before the first screen is drawn, so that nobody sees two languages.
 */
export const LANGUAGES = { en: "English", de: "Deutsch" } as const;
export type Language = keyof typeof LANGUAGES;
export const LANGUAGE_OPTIONS = [["en", LANGUAGES.en], ["de", LANGUAGES.de]] as const;

/** A view's texts, by the view's name. */
export type Catalogue = Readonly<Record<string, object | undefined>>;

const STORED = "missioncontrol.language";
type Load = () => Promise<{ catalogue: Catalogue }>;
/** What the first screens say, and what all others do. */
const OTHERS: Record<Exclude<Language, "en">, { first: Load; rest: Load }> = {
  de: { first: () => import("./de"), rest: () => import("./de/rest") },
};
/** Dates say the day first and count 24 hours, in every language. */
const LOCALES = { en: { numbers: "en-US", dates: "en-GB" }, de: { numbers: "de-DE", dates: "de-DE" } } as const;

class Speech {
  #language = $state.raw<Language>("en");
  #catalogue = $state.raw<Catalogue | null>(null);
  #isWhole = false;

  get language(): Language {
    return this.#language;
  }

  get numbers(): string {
    return LOCALES[this.#language].numbers;
  }

  get dates(): string {
    return LOCALES[this.#language].dates;
  }

  /** The texts of a view in the language spoken; null where that is the source. */
  texts(view: string): object | null {
    return this.#catalogue?.[view] ?? null;
  }

  /** Speak what this device chose, else what the browser asks for. */
  begin(): Promise<void> {
    return this.#speak(stored() ?? preferred(navigator.languages));
  }

  /** Choose a language for this device; the browser's own choice is followed again. */
  async choose(language: Language): Promise<void> {
    store(language === preferred(navigator.languages) ? null : language);
    await this.#speak(language);
    await this.whole();
  }

  /** Have the texts of every view, before one behind the first screens is drawn. */
  async whole(): Promise<void> {
    const language = this.#language;
    if (language === "en" || this.#isWhole) return;
    const rest = await fetched(OTHERS[language].rest);
    if (rest === null || language !== this.#language) return;
    this.#catalogue = { ...this.#catalogue, ...rest };
    this.#isWhole = true;
  }

  /** English stands in for a chunk that cannot be had. */
  async #speak(language: Language): Promise<void> {
    const catalogue = language === "en" ? null : await fetched(OTHERS[language].first);
    this.#isWhole = false;
    this.#catalogue = catalogue;
    this.#language = catalogue === null ? "en" : language;
    document.documentElement.lang = this.#language;
  }
}

export const speech = new Speech();

/** The first of a browser's languages that there is a catalogue for. */
export function preferred(wanted: readonly string[]): Language {
  return wanted.map((tag) => named(tag.split("-")[0] ?? "")).find((language) => language !== null) ?? "en";
}

/**
 * Make a view's English speak the chosen language: every text is looked up when
 * it is read, so a change of language redraws what shows it.
 */
export function source<Texts extends object>(view: string, english: Texts): Texts {
  return new Proxy(english, {
    get: (texts, key): unknown => Reflect.get(speech.texts(view) ?? texts, key),
  });
}

function fetched(load: Load): Promise<Catalogue | null> {
  return load().then(({ catalogue }) => catalogue, () => null);
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
