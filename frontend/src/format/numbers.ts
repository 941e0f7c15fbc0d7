/** Figures as LANGUAGE "Numbers" draws them. */

const MINUS = "\u2212";

/** `$2.31`; under 1 ¢ `$0.004`; from $1,000 `$1,204`. */
export function money(value: string | number): string {
  const amount = Number(value);
  const size = Math.abs(amount);
  const sign = amount < 0 ? MINUS : "";
  if (size > 0 && size < 0.0005) return `${sign}<$0.001`;
  if (size > 0 && size < 0.01) return `${sign}$${size.toFixed(3)}`;
  if (size >= 1000) return `${sign}$${Math.round(size).toLocaleString("en-US")}`;
  return `${sign}$${size.toFixed(2)}`;
}

/** One turn's cost, where a cent is coarse: `$0.061`. */
export function fineMoney(value: string | number): string {
  const amount = Number(value);
  return amount > 0 && amount < 1 ? `$${amount.toFixed(3)}` : money(value);
}

/** A ceiling as a person said it: `$5`, `$4.50`. */
export function roundMoney(value: string | number): string {
  const amount = Number(value);
  return Number.isInteger(amount) ? `$${amount.toLocaleString("en-US")}` : money(amount);
}

/** `940`, `9.1k`, `412k`, `1.2M`. */
export function count(value: number): string {
  if (value < 1000) return String(Math.round(value));
  if (value < 9_950) return `${trim(value / 1000)}k`;
  if (value < 999_500) return `${String(Math.round(value / 1000))}k`;
  return `${trim(value / 1_000_000)}M`;
}

export function whole(value: number): string {
  return value.toLocaleString("en-US");
}

export function share(part: number): string {
  return `${String(Math.round(part * 100))}%`;
}

export function similarity(value: number): string {
  return value.toFixed(2);
}

export function plural(n: number, word: string, many = `${word}s`): string {
  return `${whole(n)} ${n === 1 ? word : many}`;
}

function trim(value: number): string {
  return value.toFixed(1).replace(/\.0$/, "");
}
