/** What a person has not finished, kept for as long as their tab stands: a reload leaves it. */

/** What the name of each begins with there. */
const KEPT = "unfinished ";

export function keepInTab(name: string, value: object | null): void {
  try {
    if (value) sessionStorage.setItem(KEPT + name, JSON.stringify(value));
    else sessionStorage.removeItem(KEPT + name);
  } catch {
    // full, or off
  }
}

export function keptInTab<Value extends object>(name: string): Value | null {
  try {
    return JSON.parse(sessionStorage.getItem(KEPT + name) ?? "null");
  } catch {
    return null;
  }
}

/** Nothing stays of whoever signs out, or was here before somebody else. */
export function emptyTab(): void {
  try {
    for (const name of Object.keys(sessionStorage))
      if (name.startsWith(KEPT)) sessionStorage.removeItem(name);
  } catch {
    // off
  }
}
