/** Numbers in the selected language. */
import { speech } from "../messages/speech.svelte";

const MINUS = "\u2212";
const formats = new Map<string, Intl.NumberFormat>();

/** `$2.31`; under 1 ¢ `$0.004`; from $1,000 `$1,204`. */
export function money(value: string | number): string {
  const amount = Number(value);
  const size = Math.abs(amount);
  const sign = amount < 0 ? MINUS : "";
  if (size > 0 && size < 0.0005) return `${sign}<${dollars(0.001, 3)}`;
  if (size > 0 && size < 0.01) return sign + dollars(size, 3);
  return sign + dollars(size, size >= 1000 ? 0 : 2);
}

/** The cost of one turn, for which a cent is too coarse: `$0.061`. */
export function fineMoney(value: string | number): string {
  const amount = Number(value);
  return amount >= 0.0005 && amount < 1 ? dollars(amount, 3) : money(value);
}

/** A ceiling as people write it: `$5`, `$4.50`. */
export function roundMoney(value: string | number): string {
  const amount = Number(value);
  return Number.isInteger(amount) ? dollars(amount, 0) : money(amount);
}

/** `940`, `9.1k`, `412k`, `1.2M`. */
export function count(value: number): string {
  if (value < 1000) return String(Math.round(value));
  if (value < 9_950) return `${decimal(value / 1000, 0, 1)}k`;
  if (value < 999_500) return `${decimal(value / 1000, 0, 0)}k`;
  return `${decimal(value / 1_000_000, 0, 1)}M`;
}

/** `512 kB`, `38 MB`, `1.2 TB`, in powers of 1000. */
export function bytes(size: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  const step = Math.min(units.length - 1, size < 1 ? 0 : Math.floor(Math.log10(size) / 3));
  const amount = size / 1000 ** step;
  return `${decimal(amount, 0, amount < 10 && step > 0 ? 1 : 0)} ${units[step] ?? ""}`;
}

export function whole(value: number): string {
  return formatOf("whole", {}).format(value);
}

/** `43%`; with a space in German. */
export function share(part: number): string {
  return formatOf("share", { style: "percent", maximumFractionDigits: 0 }).format(part);
}

export function hundredths(value: number): string {
  return decimal(value, 2, 2);
}

/** A mark on an axis: "0.5", "0.25". */
export function mark(value: number): string {
  return decimal(value, 0, 2);
}

/** A change with its sign: "+0.11", or with a minus sign (U+2212). */
export function signedHundredths(value: number): string {
  return `${value < 0 ? MINUS : "+"}${hundredths(Math.abs(value))}`;
}

function dollars(size: number, digits: number): string {
  const options = {
    style: "currency",
    currency: "USD",
    currencyDisplay: "narrowSymbol",
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  } as const;
  return formatOf(`dollars ${String(digits)}`, options).format(size);
}

function decimal(value: number, minDigits: number, maxDigits: number): string {
  const options = { minimumFractionDigits: minDigits, maximumFractionDigits: maxDigits };
  return formatOf(`decimal ${String(minDigits)} ${String(maxDigits)}`, options).format(value);
}

/** Cached: creating a format is slow, and a board of 1,000 runs draws thousands of numbers. */
function formatOf(name: string, options: Intl.NumberFormatOptions): Intl.NumberFormat {
  const key = `${speech.numbers} ${name}`;
  const known = formats.get(key) ?? new Intl.NumberFormat(speech.numbers, options);
  formats.set(key, known);
  return known;
}

/** A multiple: `3.1`, from ten on `12`, above 99 `>99`. */
export function drawnTimes(times: number): string {
  if (times > 99) return ">99";
  return times < 9.95 ? decimal(times, 1, 1) : whole(Math.round(times));
}
