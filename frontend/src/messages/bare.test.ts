import { describe, expect, it } from "vitest";
import { bareTexts } from "./bare";

const components = import.meta.glob<string>("../**/*.svelte", {
  eager: true,
  query: "?raw",
  import: "default",
});

it.each(Object.entries(components))("%s says nothing that no catalogue says", (_, component) => {
  expect(bareTexts(component)).toEqual([]);
});

it.each(Object.entries(components))("%s leaves quotation marks to the language", (_, component) => {
  expect(component).not.toMatch(/[“”„]/);
});

describe("a text is bare", () => {
  it.each([
    ["<p>Nothing runs.</p>", ["Nothing runs."]],
    ["{#if a}<b>{n} open</b>{:else}no{/if}", ["open", "no"]],
    ['<button aria-label="Close">×</button>', ["Close"]],
    ['{on ? "On" : `${n} off`}', ["On", "off"]],
    ['<script>const a = "Not saved yet.";</script>', ["Not saved yet."]],
    ["{#each all as one}Row{/each}", ["Row"]],
  ])("in %s", (component, found) => {
    expect(bareTexts(component)).toEqual(found);
  });

  it.each([
    "{t.title} · {n}",
    '<p class="note" {...rest}>{"\\n"}</p>',
    "<code>uv run</code>",
    '{kind === "budget" ? t.a : t.b}',
    '<script>const path = "runs/export/";</script>',
    "<style>p { color: red; }</style>",
  ])("not in %s", (component) => {
    expect(bareTexts(component)).toEqual([]);
  });
});
