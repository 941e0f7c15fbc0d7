/** Which entries a line typed into the palette means, best first. Pure. */
import { folded } from "../../format/plain";

export interface Entry {
  /** Tells entries apart: two runs may share a name. */
  id: string;
  kind: "run" | "screen" | "setting" | "project" | "action";
  label: string;
  detail: string;
  act: () => void;
}

const MOST = 12;

/** Every word must be found in the label or the detail; a label that begins with the line is first. */
export function rank(entries: readonly Entry[], line: string, most = MOST): Entry[] {
  const words = folded(line).split(/\s+/).filter(Boolean);
  return entries
    .map((entry, place) => ({ entry, place, score: scoreOf(entry, words) }))
    .filter(({ score }) => score >= 0)
    .sort((a, b) => b.score - a.score || a.place - b.place)
    .slice(0, most)
    .map(({ entry }) => entry);
}

/** -1: it is not meant. */
function scoreOf({ label, detail }: Entry, words: readonly string[]): number {
  const [name, more] = [folded(label), folded(detail)];
  if (!words.every((word) => name.includes(word) || more.includes(word))) return -1;
  const [first = ""] = words;
  if (name.startsWith(words.join(" "))) return 3;
  if (name.split(/[\s/_.-]+/).some((part) => part.startsWith(first))) return 2;
  return name.includes(first) ? 1 : 0;
}
