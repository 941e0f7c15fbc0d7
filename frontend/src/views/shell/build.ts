/** Which build a page belongs to: its script's address contains the build's hash. */

/** Return whether a page names another build's script; one without a script is not ours. */
export function isOfOtherBuild(page: string, script: string): boolean {
  return page.includes("/assets/index-") && !page.includes(script);
}

/** Return whether the server now has another build; false if it does not answer in 5 s. */
export async function isReplaced(): Promise<boolean> {
  const script = document.querySelector("script[type=module]")?.getAttribute("src") ?? "";
  try {
    // Any screen except "/", which the service worker would answer from its own build.
    const page = await fetch("/decisions", {
      cache: "no-store",
      signal: AbortSignal.timeout(5_000),
    });
    return isOfOtherBuild(await page.text(), script);
  } catch {
    return false;
  }
}
