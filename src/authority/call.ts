import type { ServerToolIdentity } from '../tool/contract.js'
import type { Subject } from '../tool/subject.js'
import { commandName } from './destructive-command.js'
import { type Host, parseHost } from './host-pattern.js'
import { resolvePath } from './lexical-path.js'
import { type PathFacts, pathFactsKey, withFacts } from './path-facts.js'
import { type PreparedPath, preparePath } from './path-pattern.js'
import { quoteArgv } from './quote-argv.js'
import { insideRoots, type Scope, workspaceRoot } from './scope.js'
import type { CommandAnalysis, CommandUnit, PathOrigin } from './shell/analysis.js'
import { analyzeCommand } from './shell/analyze-command.js'

export type PathSubject = JudgedSubject & { readonly kind: 'path' }

/** One tool call as it is judged: after validation, before anything runs. */
export type Call = {
  readonly tool: string
  /** The validated arguments. */
  readonly args?: unknown
  /** The subjects that the tool reports for these arguments. */
  readonly subjects: readonly Subject[]
  /** For a tool of an MCP server: the server, and the digest of the current definition. */
  readonly mcp?: ServerToolIdentity
  /** The directory that relative paths start from. Absent: the workspace root. */
  readonly cwd?: string
  /** Facts from the disk about the paths of the call, by `pathFactsKey`. Absent: the disk was not read. */
  readonly pathFacts?: ReadonlyMap<string, PathFacts> | undefined
  readonly session?: string
  readonly agent?: string
  /** Directories that a command names, each with a file below it that must not be read, from the file system. */
  readonly held?: ReadonlyMap<string, string>
}

/** One thing to judge. A command is split into the commands, files and hosts that its text names. */
export type JudgedSubject =
  | {
      readonly kind: 'path'
      readonly fs: 'read' | 'write'
      readonly path: PreparedPath
      /** Whether the tool or a command names it; see `PathOrigin`. */
      readonly origin: 'tool' | PathOrigin
      readonly inside: boolean
      /** The absolute path as the system reads it: `..` after a link is not resolved yet. */
      readonly written: string
      /** `removed`: a link at the end is not followed. `replaced`: a file's content is not overwritten in place. */
      readonly entry?: 'removed' | 'replaced' | undefined
      /** The target of the path through links; the target is a separate subject. */
      readonly leadsTo?: string | undefined
      /** The command can read everything below it. */
      readonly tree?: true | undefined
      /** It is opened only if its parent directory exists, so it is judged after the disk was read. */
      readonly ifDirectory?: true | undefined
      /** Why it is not certain that this is the path. */
      readonly doubt?: string | undefined
    }
  | {
      readonly kind: 'host'
      readonly host: Host | undefined
      readonly text: string
      readonly origin: 'tool' | 'command'
    }
  | {
      readonly kind: 'command'
      readonly unit: CommandUnit
      readonly doubts: readonly string[]
      /** It is an argument of another program, which may start it; `prose` when it may also be a message. */
      readonly possible?: 'argument' | 'prose'
    }
  | { readonly kind: 'capability'; readonly name: string }
  /** The call itself, for a tool that reports no subjects. */
  | { readonly kind: 'call' }

/** A call split into the subjects that rules and grants judge. */
export type ExpandedCall = {
  readonly call: Call
  readonly scope: Scope
  readonly subjects: readonly JudgedSubject[]
  /** Paths that are opened only if a directory exists; those that are opened are also among the subjects. */
  readonly possiblePaths: readonly PathSubject[]
  readonly commands: readonly CommandAnalysis[]
  /** Why the call can never run, as a sentence. */
  readonly invalid?: string | undefined
}

/** Splits a call into its subjects, once for all judges. Never throws. */
export function expandCall(call: Call, scope: Scope): ExpandedCall {
  const start = placeOf(scope)
  const place = call.cwd === undefined ? start : { ...start, cwd: resolvePath(call.cwd, start) }
  const { cwd } = place
  const commands: CommandAnalysis[] = []
  const subjects: JudgedSubject[] = []
  const invalid: string[] = []
  for (const subject of call.subjects) {
    if ('fs' in subject) {
      if (subject.path.includes('\0')) invalid.push('the path has a NUL character in it')
      else subjects.push(pathSubject(subject.fs, absolute(subject.path, place), 'tool', place))
    } else if ('net' in subject) {
      const host = parseHost(subject.net)
      if (host === undefined)
        invalid.push(`${JSON.stringify(subject.net)} is not a host that can be connected to`)
      subjects.push({ kind: 'host', host, text: subject.net, origin: 'tool' })
    } else if ('shell' in subject) {
      const text = 'text' in subject.shell ? subject.shell.text : quoteArgv(subject.shell.argv)
      const from = subject.shell.cwd === undefined ? cwd : resolvePath(subject.shell.cwd, place)
      const analysis = analyzeCommand(text, { cwd: from })
      commands.push(analysis)
      if (analysis.invalid !== undefined) invalid.push(analysis.invalid)
      subjects.push(...commandSubjects(analysis, { ...place, cwd: from }))
    } else {
      subjects.push({ kind: 'capability', name: subject.capability })
    }
  }
  if (call.subjects.length === 0) subjects.push({ kind: 'call' })
  const { pathFacts, held } = call
  const possiblePaths: PathSubject[] = []
  const judged = subjects.flatMap((subject): JudgedSubject[] => {
    if (subject.kind !== 'path') return [subject]
    if (subject.ifDirectory) possiblePaths.push(subject)
    if (subject.ifDirectory && !pathFacts?.has(pathFactsKey(subject))) return []
    const places = pathFacts === undefined ? [subject] : withFacts(subject, pathFacts, isInsideOf(place))
    return held === undefined ? places : places.map((each) => withContainedFile(each, held))
  })
  return {
    call,
    scope,
    subjects: judged,
    possiblePaths,
    commands,
    invalid: invalid[0],
  }
}

/** Returns whether a subject may not exist at all: a word of an unknown program. */
export function isGuess(subject: JudgedSubject): boolean {
  if (subject.kind === 'command') return subject.possible !== undefined
  return (
    subject.kind === 'path' &&
    (subject.origin === 'mention' || subject.origin === 'part' || subject.origin === 'prose')
  )
}

type Place = { readonly cwd: string; readonly home: string | undefined; readonly roots: readonly string[] }

/** Returns where the paths of a call start. Computed once for each scope, which does not change. */
function placeOf(scope: Scope): Place {
  const known = places.get(scope)
  if (known !== undefined) return known
  const home = scope.home
  const place = {
    cwd: resolvePath('.', { cwd: workspaceRoot(scope), home }),
    home,
    roots: insideRoots(scope),
  }
  places.set(scope, place)
  return place
}

const places = new WeakMap<Scope, Place>()

function commandSubjects(analysis: CommandAnalysis, place: Place): JudgedSubject[] {
  const units = analysis.units.map(
    (unit): JudgedSubject => ({
      kind: 'command',
      unit,
      doubts: [...analysis.doubts, ...unit.doubts, ...openWords(unit)],
    }),
  )
  // "Every part is allowed" must not be true for a text without parts.
  if (units.length === 0)
    units.push({ kind: 'command', unit: emptyUnit(analysis.text), doubts: [nothingSeen] })
  const possible = analysis.possible.map(
    ({ unit, prose }): JudgedSubject => ({
      kind: 'command',
      unit,
      doubts: [],
      possible: prose ? 'prose' : 'argument',
    }),
  )
  return [...units, ...possible, ...namedPaths(analysis, place), ...namedHosts(analysis)]
}

/** An allow covers the text that was read, not the value that a variable will have. */
function openWords({ words, redirections }: CommandUnit): string[] {
  const open = [...words, ...redirections.map(({ target }) => target)].find(
    ({ value }) => value === undefined,
  )
  return open === undefined ? [] : [`the value of ${open.text} is only known when it runs`]
}

const nothingSeen = 'no command was recognised in it'

function emptyUnit(text: string): CommandUnit {
  return { text, words: [], assignments: [], redirections: [], cwd: undefined, doubts: [nothingSeen] }
}

function namedPaths({ paths, units }: CommandAnalysis, place: Place): PathSubject[] {
  const found = new Map<string, PathSubject>()
  for (const { fs, path, cwd, unit, origin, tree, ifDirectory } of paths) {
    if (harmlessDevice.test(path)) continue
    const floating = cwd === undefined && !/^[/~]/.test(path)
    // The directory is a guess: denies must have a path to match even when `cd "$D"` hides the real directory.
    const from = { ...place, cwd: resolvePath(cwd ?? '.', place) }
    const subject = pathSubject(fs, absolute(path, from), origin, place)
    const entry = origin === 'argument' && fs === 'write' ? entryUse(units[unit]) : undefined
    const key = `${fs} ${origin} ${entry} ${floating} ${ifDirectory} ${subject.written}`
    if (found.has(key)) continue
    const isDoubtful = floating && origin !== 'part' && origin !== 'prose'
    found.set(key, {
      ...subject,
      entry,
      tree,
      ifDirectory,
      doubt: isDoubtful ? 'it is relative to a directory that is not known' : undefined,
    })
  }
  return [...found.values()]
}

/** Adds a doubt to a directory that the command can read as a whole if a file below it must not be read. */
function withContainedFile(subject: PathSubject, held: ReadonlyMap<string, string>): PathSubject {
  const below = subject.tree && subject.fs === 'read' ? held.get(subject.path.path) : undefined
  if (below === undefined) return subject
  return { ...subject, doubt: `it is given a directory that holds ${below}, which must not be read` }
}

/** The standard descriptors of a command are not files of the machine. */
const harmlessDevice = /^\/dev\/(null|stdin|stdout|stderr|fd\/[012])$/

/** Returns how commands use an entry when they change names and never the content of the file. */
function entryUse(unit: CommandUnit | undefined): PathSubject['entry'] {
  const name = unit === undefined ? '' : commandName(unit)
  if (name === 'rm' || name === 'unlink' || name === 'rmdir') return 'removed'
  return name === 'mv' || name === 'ln' ? 'replaced' : undefined
}

function namedHosts({ hosts }: CommandAnalysis): JudgedSubject[] {
  return hosts.map((text) => ({ kind: 'host', host: parseHost(text), text, origin: 'command' }))
}

/** Returns the path as the system reads it: only its beginning is made absolute. */
function absolute(path: string, { cwd, home }: Pick<Place, 'cwd' | 'home'>): string {
  if (path.startsWith('/')) return path
  if (home !== undefined && (path === '~' || path.startsWith('~/'))) return `${home}${path.slice(1)}`
  return `${cwd}/${path}`
}

function pathSubject(
  fs: 'read' | 'write',
  written: string,
  origin: 'tool' | PathOrigin,
  place: Place,
): PathSubject {
  const path = preparePath(written)
  return { kind: 'path', fs, path, origin, inside: isInsideOf(place)(path.path), written }
}

function isInsideOf({ roots }: Place): (path: string) => boolean {
  return (path) => roots.some((root) => isBelow(root, path))
}

function isBelow(root: string, path: string): boolean {
  const normal = resolvePath(root, { cwd: '/' })
  return normal === '/' || path === normal || path.startsWith(`${normal}/`)
}
