import type { Call, JudgedSubject } from './call.js'
import { type CompiledRule, compileRule } from './compiled-rule.js'
import { type PreparedPath, reachesBelow } from './path-pattern.js'
import { boundCapability, mcpOfToolId } from './permission.js'
import { isPinned, type Rule, ruleSources } from './rule.js'
import {
  collect,
  createRuleIndex,
  type Entry,
  type Found,
  fill,
  type Level,
  type RuleIndex,
  tryEntry,
} from './rule-index.js'
import type { Scope } from './scope.js'
import { allowsReadingPart, restrictsReading } from './tree-reader.js'
import { type Action, strictness } from './verdict.js'

/** The rules and defaults of a rule book. */
export type RuleBookOptions = {
  readonly rules: readonly Rule[]
  readonly scope: Scope
  /** The verdict when no rule matches. Absent: ask. */
  readonly defaultDecision?: Action
  /** The host stated the default, also for reading: if rules allow some files, commands cannot read others either. */
  readonly explicitDefault?: boolean
  /** The verdict on an allowed command that is not fully understood. Absent: ask. */
  readonly doubts?: Action
  /** The reason for the default, for messages. */
  readonly defaultReason?: string
  /** A rule for a host without a port allows every port, not only 80 and 443. For limits, which other rules narrow. */
  readonly anyPort?: boolean
}

/** Rules that were parsed once and indexed by what they can match, so that few are compared with a call. */
export type RuleBook = Required<RuleBookOptions> & {
  /** Allows that no user has confirmed; they have no effect. */
  readonly ignored: readonly Rule[]
  readonly shelves: ReadonlyMap<string, RuleIndex>
  readonly wildcards: readonly Entry[]
  /** Some files, but not all, are denied to reading. */
  readonly restrictsReading: boolean
  /** Only files that rules name can be read; the default decides about the others, also where a command names them. */
  readonly confinesReading: boolean
}

/** A rule that matches a subject, with the parts of its rank. */
export type MatchingRule = {
  readonly rule: Rule
  /** 1 is the rule that decides, unless a pinned rule does. */
  readonly rank: number
  readonly pinned: boolean
  /** `tool` over `capability` over `wildcard` over `everything`. */
  readonly level: Level
  readonly specificity: number
  /** It names another tool and applies to every use of that tool's capability. */
  readonly widened: boolean
}

/** Creates a rule book. Throws `RuleError` for the first rule that cannot be used. */
export function createRuleBook(options: RuleBookOptions): RuleBook {
  const { rules, scope } = options
  return bookOf(
    options,
    rules.map((rule, order) => compileRule(rule, order, scope)),
  )
}

/**
 * Returns a rule book with more rules. The rules of the given one are not compiled again, which takes most of the time
 * of creating a book. Throws `RuleError` for the first new rule that cannot be used.
 */
export function addRules(book: RuleBook, added: readonly Rule[]): RuleBook {
  const known = compiledRules.get(book)
  const rules = [...book.rules, ...added]
  if (known === undefined) return createRuleBook({ ...book, rules })
  const more = added.map((rule, at) => compileRule(rule, known.length + at, book.scope))
  return bookOf({ ...book, rules }, [...known, ...more])
}

/** The compiled rules of each book, in their order. */
const compiledRules = new WeakMap<RuleBook, readonly CompiledRule[]>()

function bookOf(options: RuleBookOptions, compiled: readonly CompiledRule[]): RuleBook {
  const { rules, scope, defaultDecision = 'ask', doubts = 'ask', explicitDefault = false } = options
  const { defaultReason = 'permissionPolicy.defaultDecision', anyPort = false } = options
  const shelves = new Map<string, RuleIndex>()
  const wildcards: Entry[] = []
  const ignored: Rule[] = []
  for (const one of compiled) {
    if (one.rule.untrusted && one.rule.action === 'allow') ignored.push(one.rule)
    else shelve(one, shelves, wildcards)
  }
  const confinesReading = explicitDefault && defaultDecision !== 'allow' && allowsReadingPart(rules, scope)
  const book: RuleBook = {
    rules,
    scope,
    defaultDecision,
    explicitDefault,
    doubts,
    defaultReason,
    anyPort,
    ignored,
    shelves,
    wildcards,
    restrictsReading: confinesReading || restrictsReading(rules),
    confinesReading,
  }
  compiledRules.set(book, compiled)
  return book
}

/** Returns every rule that matches one subject of a call, the most specific first. */
export function matchingRules(book: RuleBook, call: Call, subject: JudgedSubject): MatchingRule[] {
  const found: Found[] = []
  const mcp = call.mcp ?? mcpOfToolId(call.tool)
  for (const key of indexKeys(call.tool, mcp, subject)) {
    const shelf = book.shelves.get(key)
    if (shelf !== undefined) collect(shelf, call.tool, subject, found)
  }
  if (mcp !== undefined) {
    for (const entry of book.wildcards) {
      if (coversMcp(entry.compiled, mcp)) tryEntry(entry, call.tool, subject, found)
    }
  }
  if (found.length > 1) found.sort(compareRank)
  const binding = call.mcp === undefined ? found : found.filter(({ entry }) => agreesWith(entry, call))
  return binding.map(({ entry: { compiled, level, widened, pinned }, specificity }, at) => ({
    rule: compiled.rule,
    rank: at + 1,
    pinned,
    level,
    specificity,
    widened,
  }))
}

/** An approval covers a tool's definition at that time: the server may have changed it since. */
function agreesWith({ compiled: { rule } }: Entry, { mcp }: Call): boolean {
  if (rule.action !== 'allow') return true
  return rule.digest === undefined ? mcp?.changed === undefined : rule.digest === mcp?.digest
}

/** Returns an approval that was given to an earlier definition of this tool. */
export function outdatedApproval(book: RuleBook, { mcp }: Call): Rule | undefined {
  if (mcp?.digest === undefined) return undefined
  const permission = `mcp:${mcp.server}:${mcp.tool}`
  return book.rules.find(
    (rule) => rule.permission === permission && rule.digest !== undefined && rule.digest !== mcp.digest,
  )
}

/** Returns whether rules for this tool restrict subjects that cannot be seen, because the tool reports none. */
export function hasUnseenRestrictions(book: RuleBook, call: Call): boolean {
  const mcp = call.mcp ?? mcpOfToolId(call.tool)
  const shelves = [
    book.shelves.get(`tool:${call.tool}`),
    mcp && book.shelves.get(mcpKey(mcp.server, mcp.tool)),
  ]
  return shelves.some((shelf) => shelf?.restrictsPart ?? false)
}

/** Returns whether a rule that can apply to this call denies reading some files and not others. */
export function restrictsSomeFiles(book: RuleBook, call: Call): boolean {
  const mcp = call.mcp ?? mcpOfToolId(call.tool)
  const keys = [`tool:${call.tool}`, 'capability:fs.read', '*']
  if (mcp !== undefined) keys.push(mcpKey(mcp.server, mcp.tool), mcpKey(mcp.server, '*'))
  return (
    keys.some((key) => book.shelves.get(key)?.restrictsPart ?? false) ||
    (mcp !== undefined && book.wildcards.length > 0)
  )
}

/**
 * Returns whether rules allow reading something below a directory, though not the directory itself. A search can
 * start there, because each of its results is judged.
 */
export function allowsReadingBelow(book: RuleBook, call: Call, path: PreparedPath): boolean {
  const keys = [`tool:${call.tool}`, 'capability:fs.read', '*', readingKey]
  return keys.some((key) => {
    const drawer = book.shelves.get(key)?.path
    if (drawer === undefined) return false
    return [drawer.open, ...drawer.keyed.values()].some((entries) =>
      entries.some(({ compiled }) => {
        const { rule, path: pattern } = compiled
        return (
          rule.action === 'allow' && !rule.callOnly && pattern !== undefined && reachesBelow(pattern, path)
        )
      }),
    )
  })
}

const levels: readonly Level[] = ['everything', 'wildcard', 'capability', 'tool']

function shelve(compiled: CompiledRule, shelves: Map<string, RuleIndex>, wildcards: Entry[]): void {
  const { permission, rule } = compiled
  const pinned = isPinned(rule)
  const put = (key: string, level: Level, widened = false): void => {
    const shelf = shelves.get(key) ?? createRuleIndex()
    shelves.set(key, shelf)
    fill(shelf, { compiled, level, widened, pinned })
  }
  if (permission.kind === 'everything') put('*', 'everything')
  else if (permission.kind === 'capability') put(`capability:${permission.name}`, 'capability')
  else if (permission.kind === 'mcp') {
    const { server, tool } = permission
    if (!server.includes('*') && tool === '*') put(mcpKey(server, tool), 'wildcard')
    else if (!server.includes('*') && !tool.includes('*')) put(mcpKey(server, tool), 'tool')
    else wildcards.push({ compiled, level: 'wildcard', widened: false, pinned })
  } else {
    put(`tool:${permission.id}`, 'tool')
    // A file that can be read can also be searched, and named by an allowed command: neither shows more of the file.
    if (permission.id === 'read' && rule.action === 'allow') put(readingKey, 'capability', true)
    const bound = boundCapability(permission.id)
    // A rule about part of a tool's work restricts files, commands or hosts for every tool, and ranks as if it were
    // written for each of them. A rule about a whole tool restricts only that tool: denying `grep` must not stop all
    // reading.
    if (bound !== undefined && rule.action !== 'allow' && !compiled.all)
      put(`capability:${bound}`, 'tool', true)
  }
}

type McpName = { readonly server: string; readonly tool: string }

function indexKeys(tool: string, mcp: McpName | undefined, subject: JudgedSubject): string[] {
  const keys = [`tool:${tool}`, capabilityKey(subject), '*']
  if (subject.kind === 'path' && subject.fs === 'read' && readersLikeRead.has(tool)) keys.push(readingKey)
  if (mcp !== undefined) keys.push(mcpKey(mcp.server, mcp.tool), mcpKey(mcp.server, '*'))
  return keys
}

/** The index of rules that allow `read`, for reading by other tools. */
const readingKey = 'reading'
const readersLikeRead: ReadonlySet<string> = new Set(['grep', 'glob', 'ls', 'bash', 'git'])

function capabilityKey(subject: JudgedSubject): string {
  if (subject.kind === 'path') return `capability:fs.${subject.fs}`
  if (subject.kind === 'host') return 'capability:net.fetch'
  if (subject.kind === 'command') return 'capability:shell.run'
  return subject.kind === 'capability' ? `capability:${subject.name}` : ''
}

function mcpKey(server: string, tool: string): string {
  return `mcp:${server}:${tool}`
}

function coversMcp({ permission }: CompiledRule, mcp: McpName): boolean {
  return (
    permission.kind === 'mcp' &&
    fitsStars(permission.server, mcp.server) &&
    fitsStars(permission.tool, mcp.tool)
  )
}

/** `*` in a name matches any characters; each part must follow the one before, so no backtracking is needed. */
function fitsStars(pattern: string, name: string): boolean {
  const [first = '', ...rest] = pattern.split('*')
  const last = rest.pop()
  if (last === undefined) return name === first
  if (!name.startsWith(first) || !name.endsWith(last) || name.length < first.length + last.length)
    return false
  let at = first.length
  for (const part of rest) {
    const next = name.indexOf(part, at)
    if (next < 0) return false
    at = next + part.length
  }
  return at <= name.length - last.length
}

/** Compares exact tool over capability over wildcard; then longer literal pattern, scope, newest, the stricter. */
function compareRank(a: Found, b: Found): number {
  const { rule: ruleA, order: orderA } = a.entry.compiled
  const { rule: ruleB, order: orderB } = b.entry.compiled
  return (
    levels.indexOf(b.entry.level) - levels.indexOf(a.entry.level) ||
    b.specificity - a.specificity ||
    ruleSources.indexOf(ruleB.source) - ruleSources.indexOf(ruleA.source) ||
    (ruleB.added_at ?? 0) - (ruleA.added_at ?? 0) ||
    strictness(ruleB.action) - strictness(ruleA.action) ||
    orderA - orderB
  )
}
