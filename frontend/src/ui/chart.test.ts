import type uPlot from "uplot";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import {
  faint,
  kindOf,
  middleTick,
  optionsOf,
  sideFor,
  stacked,
  tableOf,
  topOf,
  type Line,
  type Tag,
} from "./chart";

const line = (label: string, values: (number | null)[], more: Partial<Line> = {}): Line => ({
  label,
  values,
  color: "--d1",
  ...more,
});
const words = {
  xWords: (x: number) => `turn ${String(x)}`,
  yWords: (y: number) => `$${String(y)}`,
};

let fontSize = "16px";
beforeEach(() => {
  fontSize = "16px";
  vi.stubGlobal("document", {});
  vi.stubGlobal("getComputedStyle", () => ({ fontSize }));
});

test("stacked lines stand on those before them, and still say their own figures", () => {
  const [top, bottom] = stacked([line("a", [1, 2]), line("b", [3, null])]);

  expect(top).toMatchObject({ label: "b", values: [4, 2], unstacked: [3, null] });
  expect(bottom).toMatchObject({ label: "a", values: [1, 2], unstacked: [1, 2] });
});

test("a ceiling is in sight though nothing came near it", () => {
  expect(
    topOf({ lines: [line("a", [3])], levels: [{ value: 60, words: "budget" }] }),
  ).toBeGreaterThan(60);
  expect(topOf({ lines: [line("a", [null])], levels: [] })).toBe(1);
});

test.each([
  [67, 30],
  [1.12, 0.5],
  [11, 5],
  [3, 1],
  [0.04, 0.02],
])("the tick of a scale up to %d is %d", (top, tick) => {
  expect(middleTick(top)).toBeCloseTo(tick, 9);
});

test("the table says what the chart draws, and that nothing is known where nothing is", () => {
  expect(
    tableOf({
      x: [1, 2],
      lines: [line("a", [5, null]), line("b", [9, 9], { unstacked: [4, 4] })],
      ...words,
    }),
  ).toEqual([
    ["turn 1", "$5", "$4"],
    ["turn 2", "—", "$4"],
  ]);
});

test("a long chart's table is thinned and keeps its last point", () => {
  const x = Array.from({ length: 100_000 }, (_, i) => i);
  const rows = tableOf({ x, lines: [line("a", x)], ...words });

  expect(rows.length).toBeLessThanOrEqual(121);
  expect(rows.at(-1)).toEqual(["turn 99999", "$99999"]);
});

test("new figures are no new chart, another line is", () => {
  const one = kindOf({ sync: null, lines: [line("a", [1])] });

  expect(kindOf({ sync: null, lines: [line("a", [2, 3])] })).toBe(one);
  expect(kindOf({ sync: null, lines: [line("a", [1]), line("b", [1])] })).not.toBe(one);
});

test("the outermost words of the axis have room, and charts that share a cursor begin at one place", () => {
  const wide = {
    xTicks: [0, 9],
    xWords: (x: number) => (x === 0 ? "1. November" : "24"),
    sync: null,
  };

  expect([sideFor(wide, 0), sideFor(wide, -1)]).toEqual([36, 12]);
  expect([sideFor({ ...wide, sync: "run" }, 0), sideFor({ ...wide, xTicks: null }, 0)]).toEqual([
    12, 12,
  ]);
});

test("a chart's words are as large as the reader's text, and have the room for it", () => {
  fontSize = "32px";
  const picture = {
    ...words,
    x: [0, 1],
    lines: [],
    levels: [],
    tags: [],
    xTicks: null,
    yTick: null,
    yRange: null,
    view: null,
    sync: null,
  };
  const handlers = { point: () => undefined, zoom: null };
  const { padding, axes } = optionsOf(
    () => picture,
    handlers,
    () => "#000000",
    {
      bars: undefined,
      steps: undefined,
    },
  );

  expect(padding).toEqual([4, 24, 0, 24]);
  expect(axes?.[0]?.size).toBe(44);
  expect(axes?.[0]?.font).toMatch(/^22px/);
});

test("a faint colour is half way to the ground it stands on", () => {
  expect(faint("#000000", "#ffffff")).toBe("#808080");
  expect(faint("rebeccapurple", "#ffffff")).toBe("rebeccapurple");
});

afterEach(() => vi.unstubAllGlobals());

/** As much of a plot as the drawing of words looks at. */
const isPlot = (_: unknown): _ is uPlot => true;

/** A canvas that tells what was drawn on it, in order. */
function recorder(valToPos: (value: number, scale: string) => number = () => 50): {
  plot: uPlot;
  drawn: string[];
  heights: Record<string, unknown>;
  rooms: Record<string, unknown>;
} {
  const drawn: string[] = [];
  const heights: Record<string, unknown> = {};
  const rooms: Record<string, unknown> = {};
  const call =
    (name: string | symbol) =>
    (...args: unknown[]): { width: number } => {
      const text = String(args[0]);
      drawn.push(name === "fillText" ? text : String(name));
      if (name === "fillText") [heights[text], rooms[text]] = [args[2], args[3]];
      return { width: 20 };
    };
  const ctx = new Proxy(
    { canvas: { width: 100 } },
    {
      get: ({ canvas }, name) => (name === "canvas" ? canvas : call(name)),
      set: () => true,
    },
  );
  const plot: unknown = { ctx, bbox: { left: 0, width: 100 }, scales: {}, valToPos };
  if (!isPlot(plot)) throw new TypeError();
  return { plot, drawn, heights, rooms };
}

test("the words of a rule stand over the bars, on ground of their own", () => {
  vi.stubGlobal("devicePixelRatio", 1);
  const { plot, drawn } = recorder();
  const picture = {
    ...words,
    x: [0],
    lines: [line("a", [9], { shape: "bars" })],
    levels: [{ value: 8, words: "budget" }],
    tags: [],
    xTicks: null,
    yTick: words.yWords,
    yRange: null,
    view: null,
    sync: null,
  };
  const { hooks } = optionsOf(
    () => picture,
    { point: () => undefined, zoom: null },
    () => "#000000",
    { bars: undefined, steps: undefined },
  );

  hooks?.drawClear?.forEach((draw) => draw?.(plot));
  const before = drawn.splice(0);
  hooks?.draw?.forEach((draw) => draw?.(plot));

  expect(before).not.toContain("budget");
  expect(drawn.filter((call) => ["roundRect", "$5", "budget"].includes(call))).toEqual([
    "roundRect",
    "$5",
    "roundRect",
    "budget",
  ]);
});

/** Draw words at points of a chart whose x is a pixel, and y one from below. */
function withTags(tags: readonly Tag[]): ReturnType<typeof recorder> {
  vi.stubGlobal("devicePixelRatio", 1);
  const recorded = recorder((value, scale) => (scale === "x" ? value : 100 - value));
  const picture = {
    ...words,
    x: [0],
    lines: [],
    levels: [],
    tags,
    xTicks: null,
    yTick: null,
    yRange: null,
    view: null,
    sync: null,
  };
  const { hooks } = optionsOf(
    () => picture,
    { point: () => undefined, zoom: null },
    () => "#000000",
    { bars: undefined, steps: undefined },
  );
  hooks?.draw?.forEach((draw) => draw?.(recorded.plot));
  return recorded;
}

test.each([
  ["above", 200, 51],
  ["below", 110, 75],
])("a point's words stand %s it where another's end at %i", (_, end, height) => {
  const { heights } = withTags([
    { x: 100, y: 40, words: "now", dot: true, align: "right" },
    { x: end, y: 50, words: "pace", align: "right" },
  ]);

  expect(heights.now).toBe(height);
});

test("large words are squeezed into the room at their side, not cut", () => {
  const { rooms } = withTags([
    { x: 30, y: 40, words: "now", align: "right" },
    { x: 30, y: 50, words: "pace" },
  ]);

  expect(rooms).toEqual({ now: 30, pace: 70 });
});
