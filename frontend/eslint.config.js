import svelte from "eslint-plugin-svelte";
import tseslint from "typescript-eslint";

const rules = {
  "@typescript-eslint/no-explicit-any": "error",
  "@typescript-eslint/no-non-null-assertion": "error",
  "@typescript-eslint/consistent-type-assertions": ["error", { assertionStyle: "never" }],
  "svelte/no-at-html-tags": "error",
};

export default tseslint.config(
  { ignores: ["dist", "node_modules", "src/wire/schema.d.ts", "coverage"] },
  ...svelte.configs["flat/base"],
  { plugins: { "@typescript-eslint": tseslint.plugin } },
  { files: ["src/**/*.ts"], languageOptions: { parser: tseslint.parser }, rules },
  {
    files: ["src/**/*.svelte", "src/**/*.svelte.ts"],
    languageOptions: { parserOptions: { parser: tseslint.parser } },
    rules,
  },
);
