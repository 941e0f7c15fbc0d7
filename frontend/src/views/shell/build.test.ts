import { expect, test } from "vitest";
import { isOfOtherBuild } from "./build";

const page = (script: string): string =>
  `<head><script type="module" crossorigin src="${script}"></script></head>`;

test("a page that names another script is of another build", () => {
  expect(isOfOtherBuild(page("/assets/index-new.js"), "/assets/index-old.js")).toBe(true);
});

test.each([page("/assets/index-old.js"), "<h1>Sign in to the proxy</h1>", ""])(
  "%s tells of no other build",
  (answer) => {
    expect(isOfOtherBuild(answer, "/assets/index-old.js")).toBe(false);
  },
);
