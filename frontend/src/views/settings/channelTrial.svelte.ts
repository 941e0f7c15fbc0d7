/** A test message to a channel, followed until there is a result. */
import { exactTime } from "../../format/time";
import { channels as t, failures } from "../../messages/texts";
import { Mutation } from "../../sync/mutation.svelte";
import { read, write } from "../../wire/api";
import type { DeliveryRow } from "../../wire/types";

const POLL_MS = 600;
const MAX_POLLS = 50;

export class ChannelTrial {
  #row = $state.raw<DeliveryRow | null>(null);
  readonly #mutation = new Mutation(() => t.unreachable);
  #slow = $state.raw(false);

  get busy(): boolean {
    return this.#mutation.busy;
  }

  get failed(): boolean {
    return this.#mutation.error !== "" || this.#row?.status === "failed";
  }

  /** The result in words; "" before there is one. */
  get words(): string {
    const row = this.#row;
    if (this.#mutation.error) return this.#mutation.error;
    if (row?.status === "sent" && row.sent_at) return t.tested(exactTime(row.sent_at));
    if (row?.status === "waiting" && row.error && row.due_at)
      return t.testAgain(failures.sentence(row.error), exactTime(row.due_at));
    if (row && row.status !== "waiting")
      return t.testFailed(
        row.error ? failures.sentence(row.error) : t.deliveries.status[row.status],
      );
    return this.#slow ? t.testSlow : "";
  }

  async send(channel: string): Promise<void> {
    this.#row = null;
    this.#slow = false;
    await this.#mutation.run(async () => {
      this.#row = await write<DeliveryRow>("POST", `channels/${channel}/test/`, {});
      await this.#follow(this.#row.id);
    });
  }

  async #follow(id: string): Promise<void> {
    for (let asks = 0; asks < MAX_POLLS; asks += 1) {
      await new Promise((done) => setTimeout(done, POLL_MS));
      this.#row = await read<DeliveryRow>(`deliveries/${id}/`);
      if (this.#row.status !== "waiting" || this.#row.error) return;
    }
    this.#slow = true;
  }
}
