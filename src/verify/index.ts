export { findPresets } from './presets/find-presets.js'
export type { Listing, PresetCommand, VerificationPreset } from './presets/project.js'
export { type CheckCommand, readCommands, readSubject } from './read-commands.js'
export { type GivenCheck, type GivenReport, readReports, restoredReport } from './read-report.js'
export { isPending, reportOf } from './report.js'
export { ReportList } from './report-list.js'
export {
  type Before,
  failureMessage,
  type Plan,
  Requirement,
  restoredOffer,
  type VerifyRequirement,
  withDoubt,
} from './requirement.js'
export { type CheckParts, runChecks } from './run-checks.js'
export { formatVerificationSummary } from './summary.js'
