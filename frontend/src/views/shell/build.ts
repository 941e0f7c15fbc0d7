/** Which build a page is of: its script's address has the build's hash. */

/** Whether a page names another build's script; what names none is no page of ours. */
export function isOfOtherBuild(page: string, script: string): boolean {
  return page.includes("/assets/index-") && !page.includes(script);
}

/** Whether the server has another build by now; false where it does not say so in five seconds. */
export async function isReplaced(): Promise<boolean> {
  const script = document.querySelector("script[type=module]")?.getAttribute("src") ?? "";
  try {
    // Any screen's address but "/": that the service worker answers, from the build it keeps.
    const page = await fetch("/decisions", {
      cache: "no-store",
      signal: AbortSignal.timeout(5_000),
    });
    return isOfOtherBuild(await page.text(), script);
  } catch {
    return false;
  }
}
