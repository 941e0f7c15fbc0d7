/** What History shows for a search: a page of runs, totals, saved views. */
import { PagedList } from "../../sync/pagedList.svelte";
import { query, read, write } from "../../wire/api";
import type { HistoryRow, HistoryTotals, Page, SavedView } from "../../wire/types";

export class HistoryViewModel {
  readonly list = new PagedList<HistoryRow>();
  #totals = $state.raw<HistoryTotals | null>(null);
  #views = $state.raw<readonly SavedView[]>([]);
  #lastRequest = 0;

  get totals(): HistoryTotals | null {
    return this.#totals;
  }

  get views(): readonly SavedView[] {
    return this.#views;
  }

  /** Find runs; answers to older searches are discarded. */
  async find(q: string, project: string | undefined, sort = ""): Promise<void> {
    const filters = filtersOf(q, project);
    const asked = ++this.#lastRequest;
    const [totals] = await Promise.all([
      read<HistoryTotals>(`runs/totals/${filters}`).catch(() => null),
      this.list.load(`runs/${filtersOf(q, project, sort === "" ? {} : { sort })}`),
    ]);
    if (asked === this.#lastRequest) this.#totals = totals;
  }

  async readViews(project: string | undefined): Promise<void> {
    this.#views = await read<Page<SavedView>>(`views/${query({ project })}`).then(
      ({ results }) => results,
      () => this.#views,
    );
  }

  async save(name: string, q: string, project: string): Promise<void> {
    await write<SavedView>("POST", "views/", { name, q, project });
    await this.readViews(project);
  }

  async forget(view: SavedView): Promise<void> {
    await write("DELETE", `views/${view.id}/`, {});
    this.#views = this.#views.filter(({ id }) => id !== view.id);
  }
}

export function filtersOf(
  q: string,
  project: string | undefined,
  more: Record<string, string> = {},
): string {
  return query({ q, project, zone: Intl.DateTimeFormat().resolvedOptions().timeZone, ...more });
}

/** Return the path of the export of a search. */
export function exportPath(q: string, project: string | undefined, kind: "csv" | "jsonl"): string {
  return `/api/v1/runs/export/${filtersOf(q, project, { as: kind })}`;
}
