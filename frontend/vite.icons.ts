/**
 * Draws lucide's icons when the app is built: plain SVG instead of a component that
 * puts each icon together from a list, attribute by attribute, every time it is drawn.
 */
import type { Plugin } from "vite";

const ICON = /\/@lucide\/svelte\/dist\/icons\/[^/]+\.svelte$/;
const DATA = /const iconData = (\{.+\});$/m;

export interface IconData {
  size: number;
  node: [tag: string, attributes: Record<string, string>][];
}

export function drawnIcons(): Plugin {
  return {
    name: "drawn-icons",
    enforce: "pre",
    transform(code, id) {
      if (!ICON.test(id)) return null;
      const data = DATA.exec(code)?.[1];
      if (!data) throw new Error(`${id} has no iconData: lucide writes its icons differently now`);
      return drawn(JSON.parse(data) as IconData);
    },
  };
}

/** Return a component with what the app sets: a class, and whether screen readers see the icon. */
export function drawn({ size, node }: IconData): string {
  const shapes = node
    .map(([tag, attributes]) => `<${tag}${attributesText(attributes)} />`)
    .join("");
  const box = String(size);
  return `<script>let { class: name, "aria-hidden": hidden = true } = $props();</script>
<svg class={name} aria-hidden={hidden} width="${box}" height="${box}" viewBox="0 0 ${box} ${box}" fill="none"
stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round">${shapes}</svg>`;
}

function attributesText(attributes: Record<string, string>): string {
  return Object.entries(attributes)
    .map(([name, value]) => ` ${name}="${value}"`)
    .join("");
}
