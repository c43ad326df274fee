/** The entry `capstan/authority`: decides which calls are allowed. Pure functions over plain data. */
export {
  type ApprovalFacts,
  approvalKey,
  approvalText,
  type RuleSuggestion,
  suggestRule,
} from './approval-key.js'
export { type Call, type ExpandedCall, expandCall, type JudgedSubject } from './call.js'
export { CanonicalJsonError, canonicalJson } from './canonical-json.js'
export { type Authority, type Decision, decide } from './decide.js'
export { defaultRules, sessionTools } from './default-rules.js'
export { expandOnDisk, type PathLookup } from './expand-on-disk.js'
export { type Explanation, explain, formatExplanation, simulate } from './explain.js'
export * from './grant.js'
export {
  compileHostPattern,
  type Host,
  type HostPattern as CompiledHostPattern,
  hostPatternSpecificity,
  matchesHost,
  parseHost,
} from './host-pattern.js'
export { describeSubject, type Judgement, judge, readableResults, type SubjectJudgement } from './judge.js'
export { relativeTo, resolvePath } from './lexical-path.js'
export type { Manifest } from './manifest.js'
export { createModeBooks, type Mode, type ModeName, modeNames, modes, type RuntimeMode } from './mode.js'
export type { PathFacts } from './path-facts.js'
export {
  compilePathPattern,
  matchesPath,
  type PathPattern as CompiledPathPattern,
  type PathPatternOptions,
  type PathPatternUse,
  type PreparedPath,
  pathPatternSpecificity,
  preparePath,
} from './path-pattern.js'
export { PatternError } from './pattern-error.js'
export { isToolId, type Permission, parsePermission } from './permission.js'
export {
  type CompiledPolicy,
  compilePolicy,
  lintRules,
  type PermissionPolicy,
  PolicyError,
  parsePolicyString,
} from './policy.js'
export {
  formatProjectRules,
  loadProjectRules,
  type ProjectRules,
  ProjectRulesError,
  parseProjectRules,
  projectConfirmation,
} from './project-rules.js'
export { approvalNotes, protectedFileRules } from './protected-files.js'
export { matchesArg, matchesCommand, unionRequirements } from './requirements.js'
export { formatRule, parseRule, type Rule, RuleError, type RuleSource, ruleSources } from './rule.js'
export { createRuleBook, type MatchingRule, type RuleBook, type RuleBookOptions } from './rule-book.js'
export type { Scope } from './scope.js'
export type { CommandAnalysis, CommandUnit, Redirection, Word } from './shell/analysis.js'
export { analyzeCommand } from './shell/analyze-command.js'
export * from './variables.js'
export { type Action, strictest, type Verdict } from './verdict.js'
export {
  combineWatchdogs,
  defaultWatchdog,
  runWatchdog,
  type Watchdog,
  type WatchdogCall,
  type WatchdogOptions,
  type WatchdogVerdict,
} from './watchdog.js'
