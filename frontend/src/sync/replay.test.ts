/** Streams recorded by the server's own tests: before + frames == after. */
import { describe, expect, it } from "vitest";
import type { Snapshot } from "../wire/types";
import { EMPTY, reduce, type Frame, type LiveState } from "./reduce";

interface Stream {
  before: Snapshot;
  frames: Frame[];
  after: Snapshot;
}

const streams = import.meta.glob<Stream>("./streams/*.json", { eager: true, import: "default" });
const recorded = Object.entries(streams);

const normal = (state: LiveState) => ({
  runs: Object.fromEntries(state.runs),
  decisions: Object.fromEntries(state.decisions),
  stale: [...state.stale],
});

describe("state fetched before, with its events applied, is the state fetched after", () => {
  it.each(recorded)("in %s", (_, { before, frames, after }) => {
    const lived = frames.reduce(reduce, reduce(EMPTY, before));

    expect(normal(lived)).toEqual(normal(reduce(EMPTY, after)));
  });

  it.each(recorded)(
    "whichever of two events comes first, in %s",
    (_, { before, frames, after }) => {
      const events = frames.flatMap((frame) => (frame.type === "batch" ? frame.events : [frame]));
      const swapped = events.flatMap((_, i) => (i % 2 ? [] : events.slice(i, i + 2).reverse()));

      const lived = swapped.reduce(reduce, reduce(EMPTY, before));

      expect(normal(lived)).toEqual(normal(reduce(EMPTY, after)));
    },
  );

  it.skipIf(recorded.length > 0)("once the server's tests have recorded streams", () => {
    expect(recorded).toEqual([]);
  });
});
