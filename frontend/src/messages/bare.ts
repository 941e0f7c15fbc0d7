/** Find texts of a component that are not in a catalogue. Pure; for the test beside it. */
import { parse } from "svelte/compiler";

const SPEAKING = new Set([
  "aria-label",
  "title",
  "placeholder",
  "alt",
  "label",
  "text",
  "words",
  "hint",
  "summary",
  "what",
]);
/** Elements with code, which is the same in every language. */
const CODE = new Set(["code", "kbd", "pre"]);
/** Names of products are the same in every language, too. */
const NAMES =
  /^(?:Claude Code|Claude|Codex|Cursor|Gemini CLI|Gemini|Python|OpenTelemetry|Mission Control)$/;
const SENTENCE = /^\p{Lu}\p{Ll}+[,’]? \p{L}/u;

type Node = Record<string, unknown>;

/** Return the bare texts of a component: in markup, in attributes for readers, in its script. */
export function bareTexts(component: string): string[] {
  const { fragment, instance, module } = parse(component, { modern: true });
  const said = [...markup(fragment), ...sentences(instance), ...sentences(module)];
  return said
    .map((text) => text.trim())
    .filter((text) => /\p{L}{2}/u.test(text) && !NAMES.test(text));
}

function markup(node: unknown): string[] {
  if (!isNode(node)) return Array.isArray(node) ? node.flatMap(markup) : [];
  if (node.type === "Text") return [String(node.data)];
  if (node.type === "ExpressionTag") return outcomes(node.expression);
  if (node.type === "StyleDirective") return [];
  if (node.type === "RegularElement" && CODE.has(String(node.name))) return [];
  if (node.type === "Attribute") return SPEAKING.has(String(node.name)) ? markup(node.value) : [];
  const parts = [
    "fragment",
    "nodes",
    "attributes",
    "value",
    "consequent",
    "alternate",
    "body",
    "fallback",
    "pending",
    "then",
    "catch",
  ];
  return parts.flatMap((part) => markup(node[part]));
}

/** Return the texts that an expression may give, without those it only compares or passes on. */
function outcomes(node: unknown): string[] {
  if (!isNode(node)) return Array.isArray(node) ? node.flatMap(outcomes) : [];
  if (node.type === "Literal") return typeof node.value === "string" ? [node.value] : [];
  if (node.type === "TemplateElement") return [String(inside(node.value).cooked)];
  if (node.type === "ConditionalExpression")
    return [...outcomes(node.consequent), ...outcomes(node.alternate)];
  if (node.type === "LogicalExpression") return [...outcomes(node.left), ...outcomes(node.right)];
  if (node.type === "TemplateLiteral")
    return [...outcomes(node.quasis), ...outcomes(node.expressions)];
  return [];
}

/** Return the strings of a script that look like sentences. */
function sentences(node: unknown): string[] {
  if (!isNode(node)) return Array.isArray(node) ? node.flatMap(sentences) : [];
  if (node.type === "Literal")
    return typeof node.value === "string" && SENTENCE.test(node.value) ? [node.value] : [];
  if (node.type === "TemplateElement") return outcomes(node).filter((text) => SENTENCE.test(text));
  return Object.entries(node)
    .filter(([key]) => key !== "leadingComments" && key !== "trailingComments")
    .flatMap(([, value]) => sentences(value));
}

function inside(value: unknown): Node {
  return isNode(value) ? value : {};
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
