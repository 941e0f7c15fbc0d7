/** What a change was, line by line: `exact_repeat.repeats = 4`. Pure. */

export interface ChangeLine {
  text: string;
  isChanged: boolean;
}

export interface Sides {
  before: readonly ChangeLine[];
  after: readonly ChangeLine[];
}

/** The two sides of a payload that has them; null: it has none. */
export function sidesOf(payload: Record<string, unknown> | null): Sides | null {
  if (payload === null || !("before" in payload) || !("after" in payload)) return null;
  const before = linesOf(payload.before);
  const after = linesOf(payload.after);
  return { before: marked(before, new Set(after)), after: marked(after, new Set(before)) };
}

/** A payload without what it does not say. */
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
