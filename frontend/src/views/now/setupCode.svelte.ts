/** The set-up code in the empty board's command, replaced by a new one before it expires. */
import { since } from "../../format/time";
import { refused } from "../../messages/refused";
import { connect as t } from "../../messages/texts";
import { clock } from "../../sync/clock.svelte";
import { read, write } from "../../wire/api";
import type { MadeSetupCode, SetupCodeRow } from "../../wire/types";

const POLL_MS = 3_000;
/** A code is replaced this long before it expires, because pasting takes a moment. */
const SPARE_MS = 60_000;

export class SetupCode {
  #offer = $state.raw<MadeSetupCode | null>(null);
  #used = $state.raw<SetupCodeRow | null>(null);
  #problem = $state.raw("");

  /** Keep a valid code of a project as long as the caller's effect lives. */
  keepFresh(project: string): () => void {
    void this.#begin(project);
    const asking = setInterval(() => {
      if (!document.hidden) void this.#look(project);
    }, POLL_MS);
    return () => clearInterval(asking);
  }

  get offer(): MadeSetupCode | null {
    return this.#offer;
  }
  /** The code that was used last, and where. */
  get used(): SetupCodeRow | null {
    return this.#used;
  }
  get problem(): string {
    return this.#problem;
  }

  async #begin(project: string): Promise<void> {
    try {
      this.#offer = await write<MadeSetupCode>("POST", "setup-codes/", { project });
      this.#problem = "";
    } catch (error) {
      this.#offer = null;
      this.#problem = await refused(error, t.noCode);
    }
  }

  async #look(project: string): Promise<void> {
    const { id, expires_at } = this.#offer ?? { id: "", expires_at: "" };
    if (id === "") return;
    const now = await read<SetupCodeRow>(`setup-codes/${id}/`).catch(() => null);
    if (now?.used_at) this.#used = now;
    const isOver = since(expires_at, clock.read()) > -SPARE_MS;
    if (now?.used_at || isOver) await this.#begin(project);
  }
}
