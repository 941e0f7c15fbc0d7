import { describe, expect, it } from "vitest";
import type { ComparedStep, RunSeries } from "../../wire/types";
import { aRun } from "../../fixtures/rows";
import { figuresOf, lastOfTask, onOneAxis, rowsOf } from "./comparison";

const step = (seq: number): ComparedStep => ({
  seq,
  text: `Bash ${String(seq)}`,
  role: "assistant",
  failed: false,
});
const steps = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, place) => step(from + place));

describe("the rows of two runs", () => {
  const same = { same: true, a: steps(0, 5), b: steps(0, 5) };
  const differ = { same: false, a: steps(5, 7), b: steps(5, 6) };

  it("fold what both did", () => {
    const [folded, first, second] = rowsOf([same, differ], new Set());

    expect(folded).toMatchObject({ kind: "folded", at: 0 });
    expect(first).toMatchObject({ kind: "step", same: false, a: step(5), b: step(5) });
    expect(second).toMatchObject({ a: step(6), b: null });
  });

  it("unfold it step by step", () => {
    expect(rowsOf([same, differ], new Set([0]))).toHaveLength(7);
  });

  it("do not fold a step or two", () => {
    const short = { same: true, a: steps(0, 2), b: steps(3, 5) };

    expect(rowsOf([short], new Set())).toHaveLength(2);
  });
});

describe("two scores on one axis", () => {
  const series = (turns: number, perPoint: number, score: number | null): RunSeries => ({
    run: "r",
    from_seq: 0,
    to_seq: turns - 1,
    turns,
    turns_a_point: perPoint,
    cost_before_usd: "0",
    asks_from: null,
    points: Array.from({ length: Math.ceil(turns / perPoint) }, (_, place) => ({
      from_seq: place * perPoint,
      to_seq: Math.min(turns, (place + 1) * perPoint) - 1,
      at: "2026-11-24T12:00:00Z",
      score,
      score_least: score,
      changed: false,
      signals: 0,
      failures: 0,
      cost_usd: "0",
      fresh: 0,
      cached: 0,
      output: 0,
      tokens: 0,
    })),
  });

  it("end where each run ended", () => {
    const { x, a, b } = onOneAxis(series(6, 1, 0.5), series(3, 1, 0.2));

    expect(x).toEqual([0, 1, 2, 3, 4, 5]);
    expect(a).toEqual([0.5, 0.5, 0.5, 0.5, 0.5, 0.5]);
    expect(b).toEqual([0.2, 0.2, 0.2, null, null, null]);
  });

  it("take the coarser steps of the two", () => {
    expect(onOneAxis(series(8, 4, 0.5), series(3, 1, 0.2))).toEqual({
      x: [0, 4],
      a: [0.5, 0.5],
      b: [0.2, null],
    });
  });

  it("leave out what was not judged", () => {
    expect(onOneAxis(series(2, 1, null), series(2, 1, 0.2)).a).toEqual([null, null]);
  });
});

describe("what each took", () => {
  const { usage } = aRun();
  const none = { ...usage, input: 0, cache_read: 0, cache_write_5m: 0, output: 0 };
  const figure = (name: string, change: Parameters<typeof aRun>[0]) => {
    const side = { run: aRun(change), series: null, summary: null };
    return new Map<string, unknown>(figuresOf(side, side)).get(name);
  };

  it("is not known to be nothing where no usage was told", () => {
    expect(figure("tokens", { cost_usd: "0", usage: none })).toEqual([null, null]);
    expect(figure("cost", { cost_usd: "0", usage: none })).toEqual([null, null]);
  });

  it("is nothing where the model was free", () => {
    expect(figure("cost", { cost_usd: "0" })).toEqual([0, 0]);
  });

  it("has no sum where a call has no price", () => {
    expect(figure("cost", { cost_usd: "2", unpriced_calls: 1 })).toEqual([null, null]);
  });
});

it("finds the last run of the same task: of its name, begun before it", () => {
  const at = (day: number) => `2026-11-0${String(day)}T12:00:00Z`;
  const one = (id: string, name: string, day: number) => aRun({ id, name, started_at: at(day) });
  const run = one("now", "nightly", 5);
  const others = [one("later", "nightly", 6), one("last", "nightly", 4), one("x", "docs", 4)];

  expect(lastOfTask(run, [...others, one("first", "nightly", 1), run])?.id).toBe("last");
  expect(lastOfTask(run, [run])).toBeNull();
});
