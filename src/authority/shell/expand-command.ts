import type { CommandUnit, Word } from './analysis.js'
import type { Findings, Scope } from './collect-units.js'
import { commandName } from './command-table.js'
import { crudeUnits } from './crude-units.js'
import { assignmentDoubt, changesNames } from './environment.js'
import { fileArguments } from './file-arguments.js'
import { hazardsOf } from './hazards.js'
import { hostArguments } from './hosts.js'
import { mentionedPaths } from './mentioned-paths.js'
import { parseBash } from './parse-bash.js'
import { possibleCommands, startsAnother } from './possible-commands.js'
import type { ReadRedirections } from './redirections.js'
import { isSystemPath } from './system-path.js'
import { type Inner, type Unwrapped, unwrap } from './unwrap.js'
import {
  enterDirectory,
  type Outcome,
  onlyPlace,
  type Places,
  staysAt,
  UNKNOWN,
} from './working-directory.js'

const MAX_DEPTH = 4
const MAX_WRAPPERS = 8
const MAX_COLLECTED = 4_000

/** A simple command as written in the text. */
export type Draft = ReadRedirections & {
  readonly text: string
  readonly words: readonly Word[]
  readonly assignments: CommandUnit['assignments']
  readonly places: Places
  /** The number of wrappers around it. */
  readonly wrappers: number
}

/** Records a command as a unit, then what it starts; returns the directory of the shell afterwards. */
export function expandCommand(draft: Draft, scope: Scope, findings: Findings): Outcome {
  if (findings.units.length >= MAX_COLLECTED) {
    findings.doubts.add(`more than ${MAX_COLLECTED} commands`)
    return staysAt(UNKNOWN)
  }
  const unwrapped = scope.covered
    ? withoutSuffixes(unwrap(draft.words, draft.input))
    : unwrap(draft.words, draft.input)
  record(draft, unwrapped, scope, findings)
  if (!scope.possible && !scope.covered) recordPossible(draft, scope, findings)
  let outcome = ownOutcome(draft, findings)
  for (const inner of unwrapped.inner) {
    const after = expandInner(inner, draft, scope, findings)
    if (inner.inShell) outcome = after
  }
  return outcome
}

function record(draft: Draft, unwrapped: Unwrapped, scope: Scope, findings: Findings): void {
  const { text, words, assignments, redirections, places } = draft
  const unit = findings.units.length
  const cwd = onlyPlace(places)
  const another = startsAnother(words)
  const isElsewhere = cwd !== findings.start && !(scriptWord(words, unwrapped) ?? '/').startsWith('/')
  const doubts = new Set([
    ...scope.inherited,
    ...draft.doubts,
    ...assignmentDoubts(draft, findings),
    ...nameDoubts(draft, findings),
    ...hazardsOf(words),
    ...unwrapped.doubts,
    ...(another === undefined ? [] : [another]),
    ...(isElsewhere ? ['it runs a script file of another directory'] : []),
    ...(cwd === undefined ? ['it cannot be known in which directory it runs'] : []),
  ])
  findings.units.push({
    text,
    words,
    assignments,
    redirections,
    cwd,
    doubts: [...doubts],
    transparent: isTransparent(draft, unwrapped) ? true : undefined,
    scriptFile: unwrapped.scriptFile,
  })
  for (const path of draft.paths) findings.paths.push({ ...path, unit })
  if (scope.possible) return
  const files = fileArguments(words)
  // The words of a covered command were already examined as arguments of the program around it.
  const mentioned = scope.covered ? [] : mentionedPaths(words)
  // `| tee file` is equivalent to a redirection: a rule for tee does not say which files it can write.
  const origin = commandName(words[0]) === 'tee' ? 'redirection' : 'argument'
  const tree = movesTrees(words[0]) ? { tree: true as const } : {}
  for (const cwd of places.length > 0 ? places : UNKNOWN) {
    for (const file of files) findings.paths.push({ ...file, ...tree, origin, cwd, unit })
    for (const mention of mentioned) {
      findings.paths.push({ ...mention, fs: 'read', cwd, unit })
      // Git manages its own writes; every other program may write what it names.
      if (words[0]?.value !== 'git') findings.paths.push({ ...mention, fs: 'write', cwd, unit })
    }
  }
  for (const host of [...draft.hosts, ...hostArguments(words)]) findings.hosts.add(host)
}

function scriptWord(words: readonly Word[], { scriptFile }: Unwrapped): string | undefined {
  return scriptFile === undefined ? undefined : words[scriptFile]?.value
}

/** Moving or linking a directory gives its files new names, which the rules for the old names do not match. */
function movesTrees(word: Word | undefined): boolean {
  return /^(mv|ln|cp|install)$/.test(commandName(word) ?? '')
}

/**
 * Records the commands that an unknown program may start, apart from those that certainly run: only restrictions
 * apply.
 */
function recordPossible(draft: Draft, scope: Scope, findings: Findings): void {
  for (const { run, prose } of possibleCommands(draft.words)) {
    if (findings.possible.length >= MAX_COLLECTED) return
    const found = findings.nested(findings.start)
    expandInner({ run, inShell: false }, draft, { ...scope, possible: true, covered: true }, found)
    for (const unit of found.units) findings.possible.push({ unit, prose })
  }
}

function assignmentDoubts({ assignments }: Draft, findings: Findings): string[] {
  return assignments.flatMap(({ name, value }) => {
    if (changesNames(name)) findings.renamed.add(`it sets ${name}`)
    const doubt = assignmentDoubt(name, value)
    return doubt === undefined ? [] : [doubt]
  })
}

function nameDoubts({ words: [first], places }: Draft, findings: Findings): string[] {
  if (!first) return []
  const name = first.value
  if (name === undefined) return ['the name of the command is only known when it runs']
  if (name === '') return ['the name of the command is empty']
  if (CHANGES_NAMES.has(name)) findings.renamed.add(`it uses ${name}`)
  const builtin = builtinDoubt(name)
  if (builtin !== undefined) return [builtin]
  if (!name.includes('/') || isSystemPath(name)) return []
  if (name.split('/').includes('..')) return ['the path of the command goes up']
  if (!name.startsWith('/') && onlyPlace(places) !== findings.start)
    return [`${name} is a program of another directory`]
  return []
}

/**
 * Returns whether a command only starts others, controls the script, or sets harmless variables; a word that is not
 * static may change that.
 */
function isTransparent({ words }: Draft, unwrapped: Unwrapped): boolean {
  const [first] = words
  // A unit without words has only redirections, which are judged as files that are read and written.
  if (!first) return true
  const name = first.value ?? ''
  if (name.includes('/') && !isSystemPath(name)) return false
  if (unwrapped.transparent) return true
  return STEERING.has(name) && words.every((word) => word.value !== undefined)
}

/** Returns the directory of the shell after a command, without what it starts. */
function ownOutcome({ words, places }: Draft, findings: Findings): Outcome {
  const [first, ...args] = words
  if (!first) return staysAt(places)
  const name = first.value
  // The commands that these run can change the directory; those of a trap can do so even later.
  if (name === undefined || /^(source|\.|eval|popd|trap)$/.test(name)) return staysAt(UNKNOWN)
  if (neverReturns(name, args)) return { success: [], failure: [] }
  if (name !== 'cd' && name !== 'pushd') return staysAt(places)
  return { success: findings.lost ? UNKNOWN : afterChange(name, args, places), failure: places }
}

function afterChange(name: string, args: readonly Word[], places: Places): Places {
  const options = args.filter((word) => word.value !== undefined && /^-[LPe@]+$/.test(word.value))
  const [directory, ...more] = args.filter((word) => !options.includes(word) && word.value !== '--')
  const value = directory?.value
  if (value === undefined || more.length > 0 || /^[-+]/.test(value)) return UNKNOWN
  if (name === 'pushd' && options.length > 0) return UNKNOWN
  // With -P the parent of a link is that of its target, which can only be determined on the disk.
  if (options.some((word) => word.value?.includes('P')) && value.includes('..')) return UNKNOWN
  return places.map((place) => enterDirectory(place, value))
}

function expandInner(inner: Inner, outer: Draft, scope: Scope, findings: Findings): Outcome {
  const within: Scope = {
    ...scope,
    inherited: inner.doubt === undefined ? scope.inherited : [...scope.inherited, inner.doubt],
  }
  if (typeof inner.run === 'string') return expandScript(inner.run, within, outer.places, findings)
  const words = inner.run
  if (words.length === 0) return staysAt(outer.places)
  const draft: Draft = {
    ...outer,
    text: words.map((word) => word.text).join(' '),
    words,
    assignments: inner.assignments ?? [],
    redirections: [],
    paths: [],
    hosts: [],
    doubts: [],
    wrappers: outer.wrappers + 1,
  }
  if (outer.wrappers >= MAX_WRAPPERS) {
    findings.doubts.add(`more than ${MAX_WRAPPERS} wrappers around one command`)
    findings.units.push(...crudeUnits(draft.text, 'it is inside too many wrappers'))
    return staysAt(UNKNOWN)
  }
  return expandCommand(draft, inner.doubt === undefined ? within : { ...within, covered: true }, findings)
}

function expandScript(text: string, scope: Scope, places: Places, findings: Findings): Outcome {
  const script = scope.depth < MAX_DEPTH ? parseBash(text) : undefined
  if (!script) {
    const doubt =
      scope.depth < MAX_DEPTH
        ? 'a script inside the command was not understood'
        : 'scripts are nested too deep'
    findings.doubts.add(doubt)
    findings.units.push(...crudeUnits(text, doubt))
    return staysAt(UNKNOWN)
  }
  return findings.walkScript(
    script,
    {
      source: text,
      depth: scope.depth + 1,
      inherited: scope.inherited,
      ...(scope.possible && { possible: true }),
    },
    places,
    findings,
  )
}

/** Every suffix of the outer command's words was already examined; doing it again would take exponential time. */
function withoutSuffixes(unwrapped: Unwrapped): Unwrapped {
  return {
    ...unwrapped,
    inner: unwrapped.inner.filter(({ run, doubt }) => typeof run === 'string' || doubt === undefined),
  }
}

/**
 * Returns why no pattern can allow a bash builtin. Bash evaluates text in the arguments of these builtins that no
 * parser sees (`declare 'a[$(x)]=1'` runs x), or they change what later names mean.
 */
function builtinDoubt(name: string): string | undefined {
  if (EVALUATES.has(name)) return `bash evaluates what is given to ${name}`
  if (CHANGES_NAMES.has(name)) return `${name} changes what later commands mean`
  return undefined
}

/**
 * Returns whether nothing in the same shell runs after it. `return` and `break` do not count: outside of a function
 * or loop they only fail.
 */
function neverReturns(name: string, args: readonly Word[]): boolean {
  return name === 'exit' && args.length <= 1 && args.every((word) => /^\d+$/.test(word.value ?? ''))
}

const EVALUATES = new Set(
  'eval . source trap exec export declare typeset readonly local let read mapfile readarray unset getopts compgen complete compopt bind fc history'.split(
    ' ',
  ),
)
/** Builtins after which no name of the same text can be trusted. */
const CHANGES_NAMES = new Set('alias unalias hash enable set shopt'.split(' '))
/** Commands that only control the script or do nothing. */
const STEERING = new Set('cd pushd true false : exit return break continue'.split(' '))
