import type en from "../en/version";

const texts: typeof en = {
  ready: "Eine neue Version ist bereit.",
  cost: "Was hier gerade geschrieben wird, geht beim Neuladen verloren.",
  reload: "Neu laden",
  keptTooLong: "Dieser Tipp lag länger als 12 Stunden. Er wurde nicht gesendet.",
  later: "Später",
};
export default texts;
