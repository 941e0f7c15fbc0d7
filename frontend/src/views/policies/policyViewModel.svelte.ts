/** The draft of a project's policy: edited, checked, tried on recorded runs, saved. */
import { ProblemError, read, UnreachableError, write } from "../../wire/api";
import { refused } from "../../messages/refused";
import { policies as t } from "../../messages/texts";
import type {
  BacktestRow,
  Page,
  PolicyCheck,
  PolicyRule,
  PolicyScores,
  PolicyVersion,
  ProjectRow,
} from "../../wire/types";
import {
  rebased,
  sameDraft,
  sensitivityOf,
  unclear,
  withSensitivity,
  type Draft,
  type Tables,
} from "./policies";
import { clock } from "../../sync/clock.svelte";
import { saveInTab, readFromTab } from "../../sync/tabStorage";
import { heightOf, patienceOf, sensitivityAt } from "./policyLine";

const TYPING_MS = 250;
const LOOK_AGAIN_MS = 700;
const REST_MS = 700;
/** Any value works for comparing the rest of two drafts. */
const ANY_SENSITIVITY = 0.8;
/** How far back the page looks. */
export const DAYS = 30;

interface Unsaved {
  draft: Draft;
  /** The policy that the draft was made from, and its version. */
  saved: Draft;
  number: number;
  /** Null: unchanged. */
  mode: ProjectRow["mode"] | null;
  note: string;
}

export class PolicyViewModel {
  readonly #project: string;
  readonly #mine: string;
  /** The reason for the change, stored with the version. */
  note = $state("");
  #draft = $state.raw<Draft>({});
  #saved = $state.raw<Draft>({});
  #check = $state.raw<PolicyCheck | null>(null);
  #rules = $state.raw<readonly PolicyRule[]>([]);
  #versions = $state.raw<readonly PolicyVersion[]>([]);
  #backtest = $state.raw<BacktestRow | null>(null);
  #tried = $state.raw<Draft | null>(null);
  #scores = $state.raw<PolicyScores | null>(null);
  #mode = $state.raw<ProjectRow["mode"]>("pause");
  #modeBefore = $state.raw<ProjectRow["mode"]>("pause");
  #rest: ReturnType<typeof setTimeout> | undefined;
  #wanted = false;
  /** The saved policy as its author typed it, comments and all. */
  #kept: string | null = null;
  #number = 0;
  #checking = $state.raw(false);
  #saving = $state.raw(false);
  #message = $state.raw<string | null>(null);
  #loaded = $state.raw(false);
  #timer: ReturnType<typeof setTimeout> | undefined;
  #asked = 0;
  #replays = 0;
  #open = true;

  constructor(
    project: string,
    /** Whether the person may start a replay, which viewers may not. */
    readonly mayReplay: boolean,
    /** The person to whom the draft belongs. */
    person = "",
  ) {
    this.#project = project;
    this.#mine = `${person} ${project}`;
  }

  get draft(): Draft {
    return this.#draft;
  }
  get check(): PolicyCheck | null {
    return this.#check;
  }
  get rules(): readonly PolicyRule[] {
    return this.#rules;
  }
  get versions(): readonly PolicyVersion[] {
    return this.#versions;
  }
  get scores(): PolicyScores | null {
    return this.#scores;
  }
  get mode(): ProjectRow["mode"] {
    return this.#mode;
  }
  set mode(mode: ProjectRow["mode"]) {
    this.#mode = mode;
  }
  /** The draft as tables, as far as it can be read. */
  get tables(): Tables | null {
    return typeof this.#draft === "string" ? (this.#check?.policy ?? null) : this.#draft;
  }
  /** The score from which the draft asks, even before it is checked; null: not by the score. */
  get asksFrom(): number | null {
    const line = this.#check?.line;
    if (!line || line.asks_from === null) return null;
    const typed = sensitivityOf(this.#draft);
    return typed === null || typed === line.sensitivity
      ? line.asks_from
      : heightOf(typed, patienceOf(line));
  }
  get backtest(): BacktestRow | null {
    return this.#backtest;
  }
  get loaded(): boolean {
    return this.#loaded;
  }
  get saving(): boolean {
    return this.#saving;
  }
  get message(): string | null {
    return this.#message;
  }
  get changed(): boolean {
    return !sameDraft(this.#draft, this.#saved);
  }
  /** Whether only the line differs from the saved policy, so that stored scores are enough. */
  get lineAlone(): boolean {
    const [one, other] = [this.#draft, this.#saved];
    if (typeof one === "string" || typeof other === "string") return !this.changed;
    return sameDraft(
      withSensitivity(one, ANY_SENSITIVITY),
      withSensitivity(other, ANY_SENSITIVITY),
    );
  }
  get modeChanged(): boolean {
    return this.#mode !== this.#modeBefore;
  }
  /** Whether the draft was checked and is valid. */
  get good(): boolean {
    return !this.#checking && this.#check?.ok === true;
  }
  /** Whether the newest backtest is of exactly this draft. */
  get tried(): boolean {
    return this.#tried !== null && sameDraft(this.#tried, this.#draft);
  }
  get running(): boolean {
    return this.#backtest?.status === "queued" || this.#backtest?.status === "running";
  }

  /** Read the policy in force; throws if that fails. */
  async load(): Promise<void> {
    this.#message = null;
    const project = await this.#look();
    this.#scores = await read<PolicyScores>(
      `${this.#path("policies/scores/")}?days=${String(DAYS)}`,
    );
    this.#mode = this.#modeBefore = project.mode;
    this.#kept = this.#versions[0]?.text ?? null;
    this.#start(this.#kept ?? project.policy);
    await this.#ask();
    if (this.#check === null) throw new UnreachableError(t.notChecked);
    this.#takeUp(project);
    this.#loaded = true;
  }

  /** Keep the draft as long as the tab is open, also across other pages and reloads. */
  keep(): void {
    const mode = this.modeChanged ? this.#mode : null;
    const unsaved: Unsaved | null =
      this.changed || mode
        ? { draft: this.#draft, saved: this.#saved, number: this.#number, mode, note: this.note }
        : null;
    if (this.#loaded) saveInTab(this.#mine, unsaved);
  }

  leave(): void {
    this.#open = false;
    clearTimeout(this.#timer);
    clearTimeout(this.#rest);
  }

  /** Set a new draft; it is checked after a pause, and replayed after a longer one. */
  edit(draft: Draft): void {
    this.#draft = draft;
    this.#message = null;
    this.#checking = true;
    this.#wanted = false;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#ask(), TYPING_MS);
    clearTimeout(this.#rest);
    this.#rest = setTimeout(() => {
      this.#wanted = true;
      this.#replay();
    }, REST_MS);
  }

  /** Switch the draft between text and tables; the policy stays the same, if it can be read. */
  asText(): void {
    const text = this.changed ? this.#check?.text : (this.#kept ?? this.#check?.text);
    if (typeof this.#draft !== "string" && typeof text === "string") this.#retell(text);
  }
  asTables(): void {
    const policy = this.#check?.policy;
    if (typeof this.#draft === "string" && policy) this.#retell(policy);
  }

  throwAway(): void {
    this.edit(this.#saved);
    this.#mode = this.#modeBefore;
    this.note = "";
  }

  /** Move the line; a draft that is text becomes tables. */
  moveLine(height: number): void {
    this.asTables();
    const line = this.#check?.line;
    if (typeof this.#draft === "string" || !line) return;
    this.edit(withSensitivity(this.#draft, sensitivityAt(height, patienceOf(line))));
  }

  #replay(): void {
    if (!this.#wanted || !this.good || this.tried) return;
    this.#wanted = false;
    if (this.changed && this.mayReplay) void this.try(DAYS);
  }

  async save(): Promise<void> {
    this.#saving = true;
    this.#message = null;
    try {
      await write<ProjectRow>("PATCH", this.#path(""), {
        ...(this.modeChanged ? { mode: this.#mode } : {}),
        policy: this.#draft,
        policy_note: this.note,
        policy_version: this.#number,
      });
      saveInTab(this.#mine, null);
      await this.load();
      this.note = "";
    } catch (error) {
      const why = await refused(error, t.notSaved);
      const isStale = error instanceof ProblemError && error.code === "stale_policy";
      this.#message = why; // first, because reading what was saved may fail too
      if (isStale) this.#message = `${why} ${await this.#rebase()}`;
    } finally {
      this.#saving = false;
    }
  }

  /** Somebody saved first: take theirs as the saved policy, and apply the changes made here. */
  async #rebase(): Promise<string> {
    const [saved, draft] = [this.#saved, this.#draft];
    const project = await this.#look();
    if (!this.modeChanged) this.#mode = project.mode;
    this.#modeBefore = project.mode;
    this.#kept = this.#versions[0]?.text ?? null;
    return this.#putOnto(project, saved, draft) ? t.onTop : t.takesTheirsBack;
  }

  /** Apply a draft to the policy now in force; false: it is text, whose changes are recounted. */
  #putOnto(project: ProjectRow, saved: Draft, draft: Draft): boolean {
    if (typeof saved === "string" || typeof draft === "string") {
      this.#saved = this.#kept ?? project.policy;
      this.edit(draft);
      return false;
    }
    this.#saved = project.policy;
    this.edit(rebased(saved, draft, project.policy));
    return true;
  }

  /** Restore the draft that this person left for this project. */
  #takeUp(project: ProjectRow): void {
    const left = readFromTab<Unsaved>(this.#mine);
    if (!left) return;
    let message = t.restored;
    // Somebody may have saved meanwhile: their changes must not be silently undone.
    if (!sameDraft(left.draft, left.saved)) {
      const isOnTop = this.#putOnto(project, left.saved, left.draft);
      if (left.number !== this.#number && this.changed)
        message = `${t.savedMeanwhile} ${isOnTop ? t.onTop : t.takesTheirsBack}`;
    }
    this.#mode = left.mode ?? this.#mode;
    this.note = left.note;
    if (this.changed || this.modeChanged) this.#message = message;
  }

  /** Repeat a replay that failed. */
  async tryAgain(): Promise<void> {
    this.#message = null;
    await this.try(DAYS);
  }

  /** Replay the recorded runs of the last days under the draft and under today's policy. */
  async try(days: number): Promise<void> {
    const draft = this.#draft;
    const asked = ++this.#replays;
    const since = new Date(clock.read().getTime() - days * 86_400_000).toISOString();
    try {
      const body = { policy: draft, since, project: this.#project };
      const begun = await write<BacktestRow>("POST", "backtest/", body);
      if (asked !== this.#replays) return;
      this.#backtest = begun;
      this.#tried = draft;
      await this.#follow(asked, begun.id);
    } catch (error) {
      const why = await refused(error, t.notTried);
      if (asked === this.#replays) this.#message = why;
    }
  }

  /** Follow a replay; a newer one discards its result. */
  async #follow(asked: number, id: string): Promise<void> {
    while (this.#open && this.running) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS));
      if (asked !== this.#replays) return;
      const row = await read<BacktestRow>(`backtest/${id}/`);
      if (asked !== this.#replays) return;
      this.#backtest = row;
    }
  }

  /** Check the draft; a newer draft discards the answer. */
  async #ask(): Promise<void> {
    const asked = ++this.#asked;
    try {
      const check = await write<PolicyCheck>("POST", this.#path("policies/check/"), {
        policy: this.#draft,
      });
      if (asked !== this.#asked) return;
      const found = unclear(this.#draft, this.#saved);
      this.#check = {
        ...check,
        ok: check.ok && found.length === 0,
        problems: [...check.problems, ...found],
      };
      if (check.ok || this.#rules.length === 0) this.#rules = check.rules;
      this.#checking = false;
      this.#replay();
    } catch (error) {
      const why = await refused(error, t.notChecked);
      if (asked === this.#asked) this.#message = why;
    }
  }

  async #look(): Promise<ProjectRow> {
    const project = await read<ProjectRow>(this.#path(""));
    const page = await read<Page<PolicyVersion>>(this.#path("policies/"));
    this.#versions = page.results;
    this.#number = project.policy_version;
    return project;
  }

  #start(draft: Draft): void {
    this.#draft = this.#saved = draft;
    this.#tried = null;
  }

  /** Set the draft to another form of the same policy, which is no change. */
  #retell(draft: string | Tables): void {
    if (!this.changed) this.#saved = draft;
    if (this.tried) this.#tried = draft;
    this.#draft = draft;
  }

  #path(rest: string): string {
    return `projects/${this.#project}/${rest}`;
  }
}
