/** Which build a page is of: its script's address has the build's hash. */

/** Any screen's address: the service worker answers "/" itself, from the build it keeps. */
const PAGE = "/decisions";
const PATIENCE_MS = 5_000;
const SCRIPT = /<script type="module"[^>]* src="([^"]+)"/;

/** Whether a page names another build's script; what names none is no page of ours. */
export function isOfOtherBuild(page: string, script: string): boolean {
  const [, named] = SCRIPT.exec(page) ?? [];
  return named !== undefined && named !== script;
}

/** Whether the server has another build by now; false where it cannot be asked. */
export async function isReplaced(): Promise<boolean> {
  const script = document.querySelector('script[type="module"][src]')?.getAttribute("src");
  if (!script) return false;
  try {
    const answer = await fetch(PAGE, {
      cache: "no-store",
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    return answer.ok && isOfOtherBuild(await answer.text(), script);
  } catch {
    return false;
  }
}
