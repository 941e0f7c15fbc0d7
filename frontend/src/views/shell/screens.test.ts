import { expect, it } from "vitest";

const sources = import.meta.glob<string>(["../../**/*.{ts,svelte}", "!../../**/*.test.ts"], {
  eager: true,
  query: "?raw",
  import: "default",
});
const EVERY_SCREEN = ["card", "shell", "version", "words"];
/** Screens have their texts listed; refusals load their own. */
const OTHERS = ["./screens.ts", "../../messages/refused.ts"];
const screens = [
  ...(sources["./screens.ts"] ?? "").matchAll(
    /\bscreen\(\s*\[([^\]]*)\],\s*\(\) =>\s*import\("\.\.\/([^"]+)"\)/g,
  ),
].map(([, views = "", path = ""]) => ({ path, views: [...views.matchAll(/\w+/g)].map(String) }));

it.each(screens)("$path comes with the texts that it and its parts say", ({ path, views }) => {
  const said = viewsSaidBy(resolved(`../${path}`, "./screens.ts")).filter(
    (view) => !EVERY_SCREEN.includes(view),
  );

  expect([...views].sort()).toEqual(said.sort());
});

it("every screen is read here", () => {
  expect(screens).toHaveLength((sources["./screens.ts"] ?? "").match(/import\("/g)?.length ?? 0);
});

it("the frame around the screens says what every screen has", () => {
  const said = viewsSaidBy("../../App.svelte");

  expect(said.filter((view) => !EVERY_SCREEN.includes(view))).toEqual([]);
});

/** The views of a module and of all that it imports, at once or later; not of other screens. */
function viewsSaidBy(start: string): string[] {
  const seen = new Set<string>();
  const views = new Set<string>();
  const pending = [start];
  for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
    const source = sources[path];
    if (seen.has(path) || source === undefined) continue;
    seen.add(path);
    if (OTHERS.includes(path)) continue;
    for (const [, names = ""] of source.matchAll(
      /import \{([^}]*)\} from "[./]*messages\/texts"/g,
    )) {
      for (const name of names.split(",")) views.add(name.trim().split(" as ")[0] ?? "");
    }

    for (const [, target = ""] of source.matchAll(/(?:from |import\()\s*"(\.[^"]+)"/g)) {
      const base = resolved(target, path);
      pending.push(base, `${base}.ts`, `${base}.svelte.ts`);
    }
  }
  return [...views];
}

/** As `import.meta.glob` names it: relative to this folder. */
function resolved(target: string, from: string): string {
  const root = "http://x/src/views/shell/";
  const path = new URL(target, new URL(from, root)).pathname.slice("/src/".length);
  if (path.startsWith("views/shell/")) return `./${path.slice("views/shell/".length)}`;
  return path.startsWith("views/") ? `../${path.slice("views/".length)}` : `../../${path}`;
}
