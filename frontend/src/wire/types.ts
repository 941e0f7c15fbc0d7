/** Short names for the wire's types. All of them come from `schema.d.ts`. */
import type { components } from "./schema";

type Schemas = components["schemas"];

export type RunRow = Schemas["RunRow"];
export type Tree = Schemas["TreeRow"];
export type TurnRow = Schemas["TurnRow"];
export type FoundTurns = Schemas["FoundTurns"];
export type RunFacets = Schemas["RunFacets"];
export type RunSeries = Schemas["RunSeries"];
export type SeriesPoint = Schemas["SeriesPoint"];
export type HandOffs = Schemas["HandOffs"];
export type HandOff = Schemas["HandOffRow"];
export type MomentRow = Schemas["MomentRow"];
export type DecisionRow = Schemas["DecisionRow"];
export type InterventionRow = Schemas["InterventionRow"];
export type AutofixRow = Schemas["AutofixRow"];
export type ProjectRow = Schemas["ProjectRow"];
export type Meters = Schemas["Meters"];
export type BudgetState = Schemas["BudgetState"];
export type Evidence = Schemas["CardEvidence"];
export type EvidenceTurn = Schemas["EvidenceTurn"];
export type Me = Schemas["Me"];
export type AllowlistRow = Schemas["AllowlistRow"];
export type AllowlistSuggestion = Schemas["AllowlistSuggestion"];
export type CostRow = Schemas["CostRow"];
export type UsualRow = Schemas["UsualRow"];
export type CostAccount = Schemas["CostAccount"];
export type TodayRow = Schemas["TodayRow"];
export type PriceSet = Schemas["PriceSet"];
export type Report = Schemas["Report"];
export type ReportRow = Schemas["ReportRow"];
export type CostGroup = Schemas["CostGroup"];
export type CostDay = Schemas["CostDay"];
export type Saving = Schemas["Saving"];
export type ProjectPatch = Schemas["ProjectPatch"];
export type AuditRow = Schemas["AuditRow"];
export type PolicyCheck = Schemas["PolicyCheck"];
export type PolicyProblem = Schemas["PolicyProblem"];
export type PolicyRule = Schemas["PolicyRule"];
export type PolicyVersion = Schemas["PolicyVersionRow"];
export type BacktestRow = Schemas["BacktestRow"];
export type BacktestRun = Schemas["BacktestRunRow"];
export type Verification = Schemas["Verification"];
export type ChannelRow = Schemas["ChannelRow"];
export type ChannelKind = ChannelRow["kind"];
export type ChannelHears = ChannelRow["hears"][number];
export type NewChannel = Schemas["NewChannel"];
export type ChannelPatch = Schemas["ChannelPatch"];
export type DeliveryRow = Schemas["DeliveryRow"];
export type DeviceRow = Schemas["DeviceRow"];
export type PairingRow = Schemas["PairingRow"];
export type Reach = Schemas["Reach"];
export type Usage = Schemas["Usage"];
export type AgentKey = Schemas["AgentKeyRow"];
export type MadeAgentKey = Schemas["MadeAgentKey"];
export type PersonalToken = Schemas["TokenRow"];
export type MadeToken = Schemas["MadeToken"];
export type Instance = Schemas["InstanceRow"];
export type HistoryRow = Schemas["HistoryRow"];
export type HistoryTotals = Schemas["HistoryTotals"];
export type Match = Schemas["MatchRow"];
export type SavedView = Schemas["SavedViewRow"];

export type Event = Schemas["Event"];
export type Snapshot = Schemas["Snapshot"];
export type MetersFrame = Schemas["MetersFrame"];
export type BatchFrame = Schemas["BatchFrame"];

export type Mode = RunRow["mode"];
export type Action = InterventionRow["action"];
export type TapePoint = RunRow["tape"][number];
export type Scope = Schemas["AllowlistRow"]["scope"];

export interface Page<Row> {
  results: Row[];
  next: string | null;
}
