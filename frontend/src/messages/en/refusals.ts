/** Why the server did not take a write, in the words that it answers with. */
import { span } from "../../format/time";

interface Refusal {
  code: string;
  message: string;
  body?: Record<string, unknown>;
}

/** What the forms call the fields that the server names in its own way. */
const fields: Record<string, string> = {
  address: "Address",
  budgets_day_usd: "Per day, all runs, dollars",
  budgets_project_usd: "Project total, dollars",
  budgets_run_turns: "Per run, turns",
  budgets_run_usd: "Per run, dollars",
  budgets: "Budgets",
  cache_read: "Cache read",
  cache_write: "Cache write",
  code: "Code shown by the app",
  expires_at: "Valid for",
  hears: "Notifies about",
  hold_limit: "Longest pause",
  input: "Input",
  keep_words_days: "Keep turn contents",
  kind: "Type",
  language: "Language",
  name: "Name",
  note: "Name or note",
  output: "Output",
  overlap_hours: "The old key",
  password: "Password",
  pattern: "Call",
  quiet_from: "Quiet hours",
  quiet_to: "Quiet hours",
  redact_rules: "Rules",
  role: "Role",
  step_minutes: "Delay",
  time_zone: "Time zone",
  value: "Domain or group",
};

/** What people call a field: of a table within tables, the innermost that has a name of its own. */
export function labelOf(
  field: string,
  labels: Readonly<Record<string, string>>,
  unlabelled = inWords,
): string {
  const parts = field.split(".");
  const known = parts.map((_, i) => labels[parts.slice(0, parts.length - i).join("_")]);
  return known.find((label) => label !== undefined) ?? unlabelled(parts.at(-1) ?? "");
}

function inWords(name: string): string {
  const words = name.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** What a sentence of the server begins with, as people call it, and the rest of it. */
export function partsOf(
  { message, body }: Refusal,
  labels: Readonly<Record<string, string>>,
  unlabelled = inWords,
): { label: string; rest: string } {
  const [, field, rest] = /^([a-z_]+(?:\.\w+)*)(?:, [a-z_]+)*: (.+)$/s.exec(message) ?? [];
  if (field === undefined || rest === undefined) return { label: "", rest: message };
  // Else it is a word that somebody typed into a search (`cost:`), or a file's name: it stays.
  const isField = (body?.field ?? field) === field;
  return { label: `${isField ? labelOf(field, labels, unlabelled) : field}: `, rest };
}

const texts = {
  fields,
  sentence: (refusal: Refusal): string => {
    const { label, rest } = partsOf(refusal, fields);
    const said = rest.replace(
      /^expected (\d+) to (\d+) seconds/,
      (_, least, most) => `expected ${span(Number(least) * 1000)} to ${span(Number(most) * 1000)}`,
    );
    return label + said;
  },
};
export default texts;
