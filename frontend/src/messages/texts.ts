/** What the screens say, a view a part of the app; each is looked up in the language spoken. */
import { view } from "./speech.svelte";

export const access = view<(typeof import("./en/access"))["default"]>("access");
export const agent = view<(typeof import("./en/agent"))["default"]>("agent");
export const allowlist = view<(typeof import("./en/allowlist"))["default"]>("allowlist");
export const audit = view<(typeof import("./en/audit"))["default"]>("audit");
export const autofixes = view<(typeof import("./en/autofixes"))["default"]>("autofixes");
export const card = view<(typeof import("./en/card"))["default"]>("card");
export const channels = view<(typeof import("./en/channels"))["default"]>("channels");
export const costs = view<(typeof import("./en/costs"))["default"]>("costs");
export const decisions = view<(typeof import("./en/decisions"))["default"]>("decisions");
export const devices = view<(typeof import("./en/devices"))["default"]>("devices");
export const history = view<(typeof import("./en/history"))["default"]>("history");
export const instance = view<(typeof import("./en/instance"))["default"]>("instance");
export const members = view<(typeof import("./en/members"))["default"]>("members");
export const now = view<(typeof import("./en/now"))["default"]>("now");
export const palette = view<(typeof import("./en/palette"))["default"]>("palette");
export const policies = view<(typeof import("./en/policies"))["default"]>("policies");
export const prices = view<(typeof import("./en/prices"))["default"]>("prices");
export const record = view<(typeof import("./en/record"))["default"]>("record");
export const reports = view<(typeof import("./en/reports"))["default"]>("reports");
export const run = view<(typeof import("./en/run"))["default"]>("run");
export const settings = view<(typeof import("./en/settings"))["default"]>("settings");
export const shell = view<(typeof import("./en/shell"))["default"]>("shell");
export const summary = view<(typeof import("./en/summary"))["default"]>("summary");
export const version = view<(typeof import("./en/version"))["default"]>("version");
export const words = view<(typeof import("./en/words"))["default"]>("words");
