/** Changes, line by line: `exact_repeat.repeats = 4`. Pure. */

export interface ChangeLine {
  text: string;
  isChanged: boolean;
}

export interface Sides {
  before: readonly ChangeLine[];
  after: readonly ChangeLine[];
}

/** Return the two sides of a payload; null: it has none. */
export function sidesOf(payload: Record<string, unknown> | null): Sides | null {
  if (payload === null || !("before" in payload) || !("after" in payload)) return null;
  const before = linesOf(payload.before);
  const after = linesOf(payload.after);
  return { before: marked(before, new Set(after)), after: marked(after, new Set(before)) };
}

/** Return a payload without its empty fields. */
export function toldOf(payload: Record<string, unknown>): string {
  return JSON.stringify(payload, (_, value: unknown) => value ?? undefined, 2);
}

function linesOf(value: unknown, path = ""): string[] {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return Object.entries(value).flatMap(([name, part]) =>
      linesOf(part, path ? `${path}.${name}` : name),
    );
  }
  if (value === null || value === undefined) return [];
  const json = JSON.stringify(value);
  return [path ? `${path} = ${json}` : json];
}

function marked(lines: readonly string[], others: ReadonlySet<string>): ChangeLine[] {
  return lines.map((text) => ({ text, isChanged: !others.has(text) }));
}
