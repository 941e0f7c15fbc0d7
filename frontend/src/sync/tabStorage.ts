/** Unfinished input, kept as long as the tab is open: it survives a reload. */

/** Prefix of the keys in the session storage. */
const KEPT = "unfinished ";

export function saveInTab(name: string, value: object | null): void {
  try {
    if (value) sessionStorage.setItem(KEPT + name, JSON.stringify(value));
    else sessionStorage.removeItem(KEPT + name);
  } catch {
    // full, or off
  }
}

export function readFromTab<Value extends object>(name: string): Value | null {
  try {
    return JSON.parse(sessionStorage.getItem(KEPT + name) ?? "null");
  } catch {
    return null;
  }
}

/** Delete everything, because the person signed out or somebody else signed in. */
export function clearTab(): void {
  try {
    for (const name of Object.keys(sessionStorage))
      if (name.startsWith(KEPT)) sessionStorage.removeItem(name);
  } catch {
    // off
  }
}
