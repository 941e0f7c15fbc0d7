/** Charts as options for uPlot. Pure except for `tokenReader` and the size of text. */
import type uPlot from "uplot";

/** One series. Bars start at 0; stack them with `stacked`. */
export interface Line {
  label: string;
  values: readonly (number | null)[];
  /** A colour of tokens.css: `--d1` … `--d5`, `--ink-3`. */
  color: `--${string}`;
  shape?: "line" | "steps" | "bars";
  width?: number;
  dash?: number[];
  /** Whether the area below the line is filled. */
  filled?: boolean;
  /** For bars: the index of the highlighted one; the others are faint. */
  strong?: number;
  /** Whether it is only drawn, and left out of legend and table. */
  unlisted?: boolean;
  /** The values for legend and table, if they differ from those drawn. */
  unstacked?: readonly (number | null)[];
}

/** A dashed horizontal line: a ceiling or threshold. */
export interface Level {
  value: number;
  words: string;
}

/** A label at a point, such as the current value. */
export interface Tag {
  x: number;
  y: number;
  words: string;
  align?: "left" | "right";
  dot?: boolean;
  strong?: boolean;
}

export interface Picture {
  x: readonly number[];
  lines: readonly Line[];
  levels: readonly Level[];
  tags: readonly Tag[];
  xTicks: readonly number[] | null;
  xWords: (x: number) => string;
  yWords: (y: number) => string;
  /** Formats the label of the horizontal line in the middle; null: no line. */
  yTick: ((y: number) => string) | null;
  /** From and to; null: from 0 to the highest value. */
  yRange: readonly [number, number] | null;
  view: readonly [number, number] | null;
  sync: string | null;
}

export interface Handlers {
  /** Called with the index of the point under the pointer; null: none. */
  point: (place: number | null) => void;
  /** Called with the range that was dragged over; null: zoom out to everything. */
  zoom: ((view: [number, number] | null) => void) | null;
}

// The same as --font: a canvas does not know the tokens.
const FACE = '"Inter Variable", "Inter Fallback", system-ui, sans-serif';
/** The same as --t-micro, in rem, like the lengths below that belong to text. */
const TEXT = 11 / 16;
const HEADROOM = 1.12;
const MAX_ROWS = 120;
/** How far the background of a text extends beyond it. */
const GROUND = 3;
/** Tags whose points are closer than this in height would overlap. */
const TAG_ROOM = 20 / 16;
/** Space for half a label at either end of the x axis. */
const SIDE = 12 / 16;
/** The width of a character of the axis, rounded up. */
const SIGN = 6.5 / 16;
/** More bars than this are too close together for an edge. */
const MAX_EDGED = 120;

export function dataOf({ x, lines }: Picture): uPlot.AlignedData {
  return [[...x], ...lines.map(({ values }) => [...values])];
}

/** Return the highest value, with space above it for labels; 1 if there is none. */
export function topOf({ lines, levels }: Pick<Picture, "lines" | "levels">): number {
  const values = lines.flatMap((line) => line.values);
  const highest = values.reduce<number>((most, value) => Math.max(most, value ?? 0), 0);
  return Math.max(highest, ...levels.map(({ value }) => value)) * HEADROOM || 1;
}

/** Return one round value near the middle of the scale: more labels are not needed. */
export function middleTick(top: number): number {
  const rough = top / 2;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [5, 3, 2, 1].find((factor) => factor * power <= rough) ?? 1;
  return step * power;
}

/** Return a key that changes if a new chart is needed, not only new data. */
export function kindOf({ lines, sync }: Pick<Picture, "lines" | "sync">): string {
  return JSON.stringify([sync, lines.map(({ values: _, unstacked: __, ...line }) => line)]);
}

/** Stack each line on those before it; they are drawn from the tallest to the lowest. */
export function stacked(lines: readonly Line[]): Line[] {
  const sums: number[] = [];
  const raised = lines.map((line) => ({
    ...line,
    unstacked: line.values,
    values: line.values.map((value, place) => (sums[place] = (sums[place] ?? 0) + (value ?? 0))),
  }));
  return raised.reverse();
}

/** Return the chart as at most 120 rows of text, for the table and screen readers. */
export function tableOf(picture: Pick<Picture, "x" | "lines" | "xWords" | "yWords">): string[][] {
  const every = Math.max(1, Math.ceil(picture.x.length / MAX_ROWS));
  return picture.x.flatMap((x, place) => {
    if (place % every !== 0 && place !== picture.x.length - 1) return [];
    const values = picture.lines.map((line) => (line.unstacked ?? line.values)[place] ?? null);
    return [
      [picture.xWords(x), ...values.map((value) => (value === null ? "—" : picture.yWords(value)))],
    ];
  });
}

/** Return a function that reads current colours: a canvas does not follow the theme itself. */
export function tokenReader(element: Element): (name: string) => string {
  const style = getComputedStyle(element);
  return (name) => style.getPropertyValue(name).trim();
}

/** Convert rem to pixels: a canvas does not know rem. */
export function rem(length: number): number {
  return length * parseFloat(getComputedStyle(document.documentElement).fontSize);
}

export interface Paths {
  bars: uPlot.Series.PathBuilder | undefined;
  steps: uPlot.Series.PathBuilder | undefined;
}

/** Return the options; `now` is called at each drawing, so that data changes in the same chart. */
export function optionsOf(
  now: () => Picture,
  handlers: Handlers,
  color: (token: string) => string,
  paths: Paths,
): Omit<uPlot.Options, "width" | "height"> {
  const { sync, lines } = now();
  const pathOf = (line: Line) =>
    line.shape === "bars" ? paths.bars : line.shape === "steps" ? paths.steps : undefined;
  return {
    padding: [4, sideFor(now(), -1), 0, sideFor(now(), 0)],
    legend: { show: false },
    cursor: cursorOf(sync, handlers, color),
    scales: {
      x: { time: false, range: (_, min, max) => viewOf(now(), min, max) },
      y: { range: () => rangeOf(now()) },
    },
    axes: [axisOf(now, color), { show: false }],
    series: [{}, ...lines.map((line) => seriesOf(line, color, pathOf(line)))],
    hooks: {
      drawClear: [(plot) => drawGround(plot, now(), color)],
      draw: [(plot) => drawWords(plot, now(), color)],
      setCursor: [(plot) => handlers.point(plot.cursor.idx ?? null)],
      ...(handlers.zoom ? { setSelect: [(plot: uPlot) => zoomTo(plot, handlers)] } : {}),
    },
  };
}

/** Return space for half of the outermost label, the same for all charts that share a cursor. */
export function sideFor(
  { xTicks, xWords, sync }: Pick<Picture, "xTicks" | "xWords" | "sync">,
  place: 0 | -1,
): number {
  const tick = xTicks?.at(place);
  if (sync !== null || tick === undefined) return rem(SIDE);
  return Math.max(rem(SIDE), Math.ceil((xWords(tick).length * rem(SIGN)) / 2));
}

/** Return the visible range; for bars with half a step more on either side. */
function viewOf({ view, lines }: Picture, min: number, max: number): [number, number] {
  if (view) return [view[0], view[1]];
  const room = lines.some(({ shape }) => shape === "bars") ? 0.5 : 0;
  return [min - room, max + room];
}

function rangeOf(picture: Picture): [number, number] {
  return picture.yRange ? [picture.yRange[0], picture.yRange[1]] : [0, topOf(picture)];
}

function cursorOf(
  sync: string | null,
  handlers: Handlers,
  color: (token: string) => string,
): uPlot.Cursor {
  return {
    y: false,
    points: { size: 6, fill: (plot, series) => strokeOf(plot, series) ?? color("--ink") },
    drag: { x: handlers.zoom !== null, y: false, setScale: false },
    ...(sync ? { sync: { key: sync, setSeries: false } } : {}),
    ...(handlers.zoom
      ? {
          bind: {
            dblclick: () => () => {
              handlers.zoom?.(null);
              return null;
            },
          },
        }
      : {}),
  };
}

function strokeOf(plot: uPlot, series: number): string | null {
  const stroke = plot.series[series]?.stroke;
  const colour: unknown = typeof stroke === "function" ? stroke(plot, series) : stroke;
  return typeof colour === "string" ? colour : null;
}

function zoomTo(plot: uPlot, handlers: Handlers): void {
  const { left, width } = plot.select;
  if (width < 4) return;
  handlers.zoom?.([plot.posToVal(left, "x"), plot.posToVal(left + width, "x")]);
  plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
}

function axisOf(now: () => Picture, color: (token: string) => string): uPlot.Axis {
  return {
    font: fontOf(false),
    stroke: color("--ink-3"),
    size: rem(22 / 16),
    gap: 4,
    grid: { show: false },
    ticks: { show: false },
    border: { show: true, stroke: color("--line"), width: 1 },
    values: (_, splits) => splits.map((x) => now().xWords(x)),
    ...(now().xTicks ? { splits: () => [...(now().xTicks ?? [])] } : {}),
  };
}

function seriesOf(
  line: Line,
  color: (token: string) => string,
  paths: uPlot.Series.PathBuilder | undefined,
): uPlot.Series {
  const ink = color(line.color);
  const isBar = line.shape === "bars";
  return {
    label: line.label,
    stroke: isBar ? color("--surface") : ink,
    width: isBar ? (line.values.length > MAX_EDGED ? 0 : 1) : (line.width ?? 2),
    points: { show: false },
    ...(line.dash ? { dash: line.dash } : {}),
    ...(isBar
      ? { fill: line.strong === undefined ? ink : faint(ink, color("--surface")) }
      : line.filled
        ? { fill: `${ink}22` }
        : {}),
    ...(paths ? { paths } : {}),
  };
}

/** Mix a six-digit colour half with the background; opaque, so that stacked bars stay hidden. */
export function faint(ink: string, ground: string): string {
  const [mine, its] = [channels(ink), channels(ground)];
  if (mine === null || its === null) return ink;
  return `#${mine
    .map((value, place) =>
      Math.round((value + (its[place] ?? value)) / 2)
        .toString(16)
        .padStart(2, "0"),
    )
    .join("")}`;
}

function channels(color: string): number[] | null {
  const found = /^#([\da-f]{2})([\da-f]{2})([\da-f]{2})$/i.exec(color);
  return found ? found.slice(1).map((pair) => parseInt(pair, 16)) : null;
}

function drawGround(plot: uPlot, picture: Picture, color: (token: string) => string): void {
  const middle = middleTick(rangeOf(picture)[1]);
  if (picture.yTick !== null) rule(plot, middle, color("--grid"), []);
  for (const { value } of picture.levels) rule(plot, value, color("--ink-3"), [5, 4]);
}

/** Draw the texts last, or else bars would cover them. */
function drawWords(plot: uPlot, picture: Picture, color: (token: string) => string): void {
  const middle = middleTick(rangeOf(picture)[1]);
  if (picture.yTick !== null) nameRule(plot, middle, picture.yTick(middle), color);
  for (const { value, words } of picture.levels) nameRule(plot, value, words, color);
  drawTags(plot, picture.tags, color);
}

function nameRule(
  plot: uPlot,
  value: number,
  words: string,
  color: (token: string) => string,
): void {
  const { ctx, bbox } = plot;
  const y = heightOf(plot, value) - 4 * devicePixelRatio;
  ctx.save();
  ground(ctx, { words, align: "left" }, bbox.left, y, color("--surface"));
  write(ctx, words, bbox.left, y, color("--ink-3"), false, "left");
  ctx.restore();
}

/** Return a height shifted by half a pixel, so that a thin line is one pixel wide. */
const heightOf = (plot: uPlot, value: number): number =>
  Math.round(plot.valToPos(value, "y", true)) + 0.5;

function rule(plot: uPlot, value: number, line: string, dash: number[]): void {
  const { ctx, bbox } = plot;
  const y = heightOf(plot, value);
  ctx.save();
  ctx.strokeStyle = line;
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash(dash.map((part) => part * devicePixelRatio));
  ctx.beginPath();
  ctx.moveTo(bbox.left, y);
  ctx.lineTo(bbox.left + bbox.width, y);
  ctx.stroke();
  ctx.restore();
}

function drawTags(plot: uPlot, tags: readonly Tag[], color: (token: string) => string): void {
  const { ctx } = plot;
  for (const tag of tags) {
    const [x, y] = [plot.valToPos(tag.x, "x", true), plot.valToPos(tag.y, "y", true)];
    ctx.save();
    ctx.setLineDash([]);
    if (tag.dot) dot(ctx, x, y, color("--d1"), color("--surface"));
    const below = belowPoint(plot, tag, tags);
    const place = placeOf(plot, tag);
    const at = y + below * devicePixelRatio;
    ground(ctx, tag, place, at, color("--surface"));
    write(
      ctx,
      tag.words,
      place,
      at,
      color(tag.strong ? "--ink" : "--ink-3"),
      tag.strong ?? false,
      tag.align ?? "left",
    );
    ctx.restore();
  }
}

/** Return where a tag's text begins, or ends if it is left of its point, in canvas pixels. */
function placeOf(plot: uPlot, { x, dot, align }: Tag): number {
  const aside = (dot ? 8 : 0) * devicePixelRatio;
  return plot.valToPos(x, "x", true) + (align === "right" ? -aside : aside);
}

function spanOf(plot: uPlot, tag: Tag): [from: number, to: number] {
  plot.ctx.font = fontOf(tag.strong, devicePixelRatio);
  const [place, wide] = [placeOf(plot, tag), plot.ctx.measureText(tag.words).width];
  return tag.align === "right" ? [place - wide, place] : [place, place + wide];
}

/**
 * Return how far below its point a tag's text is. Text left of its point is above the line, which
 * lies lower there, unless another tag's text is; text right of it only if the axis is in the way.
 */
function belowPoint(plot: uPlot, tag: Tag, tags: readonly Tag[]): number {
  if (!tag.dot) return rem(-10 / 16);
  const height = ({ y }: Tag): number => plot.valToPos(y, "y");
  const [from, to] = spanOf(plot, tag);
  const isFree = tags.every((other) => {
    if (other === tag || Math.abs(height(other) - height(tag)) > rem(TAG_ROOM)) return true;
    const [begins, ends] = spanOf(plot, other);
    return ends < from || begins > to;
  });
  const isAtAxis = height(tag) + rem(TAG_ROOM) > plot.valToPos(plot.scales["y"]?.min ?? 0, "y");
  return (tag.align === "right" ? isFree : isAtAxis) ? rem(-9 / 16) : rem(15 / 16);
}

function dot(
  ctx: CanvasRenderingContext2D,
  x: number,
  y: number,
  fill: string,
  ring: string,
): void {
  ctx.beginPath();
  ctx.arc(x, y, 4 * devicePixelRatio, 0, 2 * Math.PI);
  ctx.fillStyle = fill;
  ctx.strokeStyle = ring;
  ctx.lineWidth = 2 * devicePixelRatio;
  ctx.fill();
  ctx.stroke();
}

/** Draw the background of a text, so that no line runs through it. */
function ground(
  ctx: CanvasRenderingContext2D,
  { words, strong, align }: Pick<Tag, "words" | "strong" | "align">,
  x: number,
  y: number,
  surface: string,
): void {
  ctx.font = fontOf(strong, devicePixelRatio);
  const wide = ctx.measureText(words).width;
  const [edge, tall] = [GROUND * devicePixelRatio, rem(TEXT) * devicePixelRatio];
  ctx.fillStyle = surface;
  ctx.beginPath();
  ctx.roundRect(
    (align === "right" ? x - wide : x) - edge,
    y - tall,
    wide + 2 * edge,
    tall + edge,
    edge,
  );
  ctx.fill();
}

function write(
  ctx: CanvasRenderingContext2D,
  words: string,
  x: number,
  y: number,
  ink: string,
  strong: boolean,
  align: CanvasTextAlign,
): void {
  ctx.font = fontOf(strong, devicePixelRatio);
  ctx.textAlign = align;
  ctx.textBaseline = "alphabetic"; // not the axis's baseline, which puts text too low
  ctx.fillStyle = ink;
  // If there is no space, the letters become narrower instead of being cut.
  ctx.fillText(words, x, y, align === "right" ? x : ctx.canvas.width - x);
}

/** Return a font in canvas pixels: uPlot scales only its own texts. */
function fontOf(strong = false, scale = 1): string {
  return `${strong ? "600 " : ""}${String(rem(TEXT) * scale)}px ${FACE}`;
}
