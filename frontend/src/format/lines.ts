/** The differences between two texts, line by line. Pure. */

export interface LineOp {
  side: "both" | "left" | "right";
  text: string;
}

/** With more pairs of lines than this, a comparison would block the page. */
const MAX_PAIRS = 4_000_000;
/** Equal lines shown around a difference. */
const CONTEXT_LINES = 3;

/** Merge both texts along their longest common lines; null: they are too long for that. */
export function compareLines(left: string, right: string): LineOp[] | null {
  const [a, b] = [left.split("\n"), right.split("\n")];
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a.at(-1 - tail) === b.at(-1 - tail))
    tail++;
  const [mine, theirs] = [a.slice(head, a.length - tail), b.slice(head, b.length - tail)];
  if (mine.length * theirs.length > MAX_PAIRS) return null;
  return [
    ...both(a.slice(0, head)),
    ...middle(mine, theirs),
    ...both(tail > 0 ? a.slice(-tail) : []),
  ];
}

/** Return the differences with a few lines around; `null` stands for lines left out. */
export function hunksOf(ops: readonly LineOp[]): (LineOp | null)[] {
  const near = ops.map((_, i) =>
    ops
      .slice(Math.max(0, i - CONTEXT_LINES), i + CONTEXT_LINES + 1)
      .some(({ side }) => side !== "both"),
  );
  const out: (LineOp | null)[] = [];
  ops.forEach((op, i) => {
    if (near[i]) out.push(op);
    else if (out.at(-1) !== null) out.push(null);
  });
  return out;
}

function both(lines: readonly string[]): LineOp[] {
  return lines.map((text) => ({ side: "both", text }));
}

function middle(a: readonly string[], b: readonly string[]): LineOp[] {
  const table = lengths(a, b);
  const wide = b.length + 1;
  const at = (i: number, j: number) => table[i * wide + j] ?? 0;
  const ops: LineOp[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    const [mine, theirs] = [a[i], b[j]];
    if (mine !== undefined && mine === theirs) {
      ops.push({ side: "both", text: mine });
      i++;
      j++;
    } else if (mine !== undefined && (theirs === undefined || at(i + 1, j) >= at(i, j + 1))) {
      ops.push({ side: "left", text: mine });
      i++;
    } else {
      ops.push({ side: "right", text: theirs ?? "" });
      j++;
    }
  }
  return ops;
}

/** Return the longest common subsequence lengths of all pairs of suffixes, row by row. */
function lengths(a: readonly string[], b: readonly string[]): Uint32Array {
  const wide = b.length + 1;
  const table = new Uint32Array((a.length + 1) * wide);
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--) {
      const below = table[(i + 1) * wide + j] ?? 0;
      const beside = table[i * wide + j + 1] ?? 0;
      table[i * wide + j] =
        a[i] === b[j] ? (table[(i + 1) * wide + j + 1] ?? 0) + 1 : Math.max(below, beside);
    }
  return table;
}
