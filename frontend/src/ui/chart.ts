/** What a chart draws, as uPlot wants it. Pure but for `tokenReader`, and for the text's size. */
import type uPlot from "uplot";

/** One series. Bars stand on 0; stack them with `stacked`. */
export interface Line {
  label: string;
  values: readonly (number | null)[];
  /** A colour of tokens.css: `--d1` … `--d5`, `--ink-3`. */
  color: `--${string}`;
  shape?: "line" | "steps" | "bars";
  width?: number;
  dash?: number[];
  /** Washes the ground below the line. */
  filled?: boolean;
  /** Of bars: the one that stands out, by its place; the others are faint. */
  strong?: number;
  /** Stands in the picture only: not in the legend, not in the table. */
  unlisted?: boolean;
  /** What the legend and the table say where that is not what is drawn. */
  unstacked?: readonly (number | null)[];
}

/** A dashed line across: a ceiling, a threshold. */
export interface Level {
  value: number;
  words: string;
}

/** Words at a point, such as where it stands now. */
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
  /** Writes the one line across the middle; null: there is none. */
  yTick: ((y: number) => string) | null;
  /** From, to; null follows the data from 0. */
  yRange: readonly [number, number] | null;
  view: readonly [number, number] | null;
  sync: string | null;
}

export interface Handlers {
  /** The point under the pointer, by its place; null: none. */
  point: (place: number | null) => void;
  /** Dragged over; null: back to all of it. */
  zoom: ((view: [number, number] | null) => void) | null;
}

// As --font: a canvas knows no tokens.
const FACE = '"Inter Variable", "Inter Fallback", system-ui, sans-serif';
/** As --t-micro; below, what belongs to words is in its measure. */
const TEXT = 11 / 16;
const HEADROOM = 1.12;
const MOST_ROWS = 120;
/** So far the ground of words reaches beyond them. */
const GROUND = 3;
/** Tags whose points are this close in height would stand in each other's way. */
const TAG_ROOM = 20 / 16;
/** Room for half a word at either end of the x axis. */
const SIDE = 12 / 16;
/** As wide as a sign of the axis is, or a bit wider. */
const SIGN = 6.5 / 16;
/** More bars than these stand too close for an edge. */
const MOST_EDGED = 120;

export function dataOf({ x, lines }: Picture): uPlot.AlignedData {
  return [[...x], ...lines.map(({ values }) => [...values])];
}

/** The highest value in sight, with room above it for words; 1 when there is none. */
export function topOf({ lines, levels }: Pick<Picture, "lines" | "levels">): number {
  const values = lines.flatMap((line) => line.values);
  const highest = values.reduce<number>((most, value) => Math.max(most, value ?? 0), 0);
  return Math.max(highest, ...levels.map(({ value }) => value)) * HEADROOM || 1;
}

/** One round value near the middle of the scale: a chart needs no more to be read. */
export function middleTick(top: number): number {
  const rough = top / 2;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [5, 3, 2, 1].find((factor) => factor * power <= rough) ?? 1;
  return step * power;
}

/** What makes it another chart, not new figures in the same. */
export function kindOf({ lines, sync }: Pick<Picture, "lines" | "sync">): string {
  return JSON.stringify([sync, lines.map(({ values: _, unstacked: __, ...line }) => line)]);
}

/** Each line on top of the ones before it; drawn from the tallest to the lowest. */
export function stacked(lines: readonly Line[]): Line[] {
  const sums: number[] = [];
  const raised = lines.map((line) => ({
    ...line,
    unstacked: line.values,
    values: line.values.map((value, place) => (sums[place] = (sums[place] ?? 0) + (value ?? 0))),
  }));
  return raised.reverse();
}

/** The chart as rows of words, at most 120: what a screen reader and a table tell. */
export function tableOf(picture: Pick<Picture, "x" | "lines" | "xWords" | "yWords">): string[][] {
  const every = Math.max(1, Math.ceil(picture.x.length / MOST_ROWS));
  return picture.x.flatMap((x, place) => {
    if (place % every !== 0 && place !== picture.x.length - 1) return [];
    const values = picture.lines.map((line) => (line.unstacked ?? line.values)[place] ?? null);
    return [
      [picture.xWords(x), ...values.map((value) => (value === null ? "—" : picture.yWords(value)))],
    ];
  });
}

/** Reads colours as they are now: a canvas does not follow the theme by itself. */
export function tokenReader(element: Element): (name: string) => string {
  const style = getComputedStyle(element);
  return (name) => style.getPropertyValue(name).trim();
}

/** A length that follows the text, in pixels: a canvas knows no rem. */
export function rem(length: number): number {
  return length * parseFloat(getComputedStyle(document.documentElement).fontSize);
}

export interface Paths {
  bars: uPlot.Series.PathBuilder | undefined;
  steps: uPlot.Series.PathBuilder | undefined;
}

/** `now` is read at each drawing: figures move without a new chart. */
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

/** Room for half of the outermost word. Charts of one cursor begin at one place, whatever they say. */
export function sideFor(
  { xTicks, xWords, sync }: Pick<Picture, "xTicks" | "xWords" | "sync">,
  place: 0 | -1,
): number {
  const tick = xTicks?.at(place);
  if (sync !== null || tick === undefined) return rem(SIDE);
  return Math.max(rem(SIDE), Math.ceil((xWords(tick).length * rem(SIGN)) / 2));
}

/** Bars stand whole: half a step of room on either side. */
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
    width: isBar ? (line.values.length > MOST_EDGED ? 0 : 1) : (line.width ?? 2),
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

/** Half way to the ground, and opaque: what is stacked shows nothing through. Of six-digit colours. */
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

/** Words stand over what is drawn: below it, a bar would hide them. */
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

/** Half a pixel off, so that a thin line is one pixel wide. */
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

/** Where a tag's words begin, or end where they stand left of its point; in the canvas's pixels. */
function placeOf(plot: uPlot, { x, dot, align }: Tag): number {
  const aside = (dot ? 8 : 0) * devicePixelRatio;
  return plot.valToPos(x, "x", true) + (align === "right" ? -aside : aside);
}

function spanOf(plot: uPlot, tag: Tag): [from: number, to: number] {
  plot.ctx.font = fontOf(tag.strong, devicePixelRatio);
  const [place, wide] = [placeOf(plot, tag), plot.ctx.measureText(tag.words).width];
  return tag.align === "right" ? [place - wide, place] : [place, place + wide];
}

/** How far below its point a tag's words stand. Left of a sum that grows, the line lies below: they stand above it, unless another's words do. Right of it they stand above where the axis would be in their way. */
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

/** Ground under words, so that no line runs through them. */
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
  ctx.textBaseline = "alphabetic"; // the axis leaves its own, and words would hang below their ground
  ctx.fillStyle = ink;
  // Narrower letters rather than cut words, where large ones have no room.
  ctx.fillText(words, x, y, align === "right" ? x : ctx.canvas.width - x);
}

/** uPlot scales its own to the canvas's pixels; what we write, we scale. */
function fontOf(strong = false, scale = 1): string {
  return `${strong ? "600 " : ""}${String(rem(TEXT) * scale)}px ${FACE}`;
}
