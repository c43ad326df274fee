import type { ServerToolIdentity } from '../tool/contract.js'
import type { Subject } from '../tool/subject.js'
import { commandName } from './destructive-command.js'
import { type Host, parseHost } from './host-pattern.js'
import { resolvePath } from './lexical-path.js'
import { type PathFacts, pathFactsKey, withFacts } from './path-facts.js'
import { type PreparedPath, preparePath } from './path-pattern.js'
import { insideRoots, type Scope, workspaceRoot } from './scope.js'
import type { CommandAnalysis, CommandUnit, PathOrigin } from './shell/analysis.js'
import { analyzeCommand } from './shell/analyze-command.js'

export type PathSubject = JudgedSubject & { readonly kind: 'path' }

/** One tool call, as it is judged: after validation, before anything runs. */
export type Call = {
  readonly tool: string
  /** The validated arguments. */
  readonly args?: unknown
  /** What the tool says it touches with these arguments. */
  readonly subjects: readonly Subject[]
  /** For a tool of an MCP server: whose it is, and what it is at the moment. */
  readonly mcp?: ServerToolIdentity
  /** Where relative paths start. Absent: the workspace root. */
  readonly cwd?: string
  /** What the disk says of the paths that the call names, by `pathFactsKey`. Absent: the disk was not asked. */
  readonly pathFacts?: ReadonlyMap<string, PathFacts> | undefined
  readonly session?: string
  readonly agent?: string
  /** Directories that a command names, each with a file below it that must not be read. Only the file system can tell. */
  readonly held?: ReadonlyMap<string, string>
}

/** One thing to judge. Commands come apart into the commands, files and hosts that their text names. */
export type JudgedSubject =
  | {
      readonly kind: 'path'
      readonly fs: 'read' | 'write'
      readonly path: PreparedPath
      /** Named by the tool, or by a command: see `PathOrigin`. */
      readonly origin: 'tool' | PathOrigin
      readonly inside: boolean
      /** The absolute path as the system reads it: `..` after a link is not yet resolved. */
      readonly written: string
      /** `removed`: a link at the end is not followed. `replaced`: the content of a file that is there is not written to. */
      readonly entry?: 'removed' | 'replaced' | undefined
      /** The path leads here through links; the path it leads to is a subject of its own. */
      readonly leadsTo?: string | undefined
      /** The command may read everything below it. */
      readonly tree?: true | undefined
      /** It is opened only where the directory above it exists: judged once the disk has been asked. */
      readonly ifDirectory?: true | undefined
      /** Why the path is only a guess. */
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
      /** It is among the arguments of another program, which may start it; `prose` when it may as well be a message. */
      readonly possible?: 'argument' | 'prose'
    }
  | { readonly kind: 'capability'; readonly name: string }
  /** The call itself, of a tool that names nothing it touches. */
  | { readonly kind: 'call' }

export type ExpandedCall = {
  readonly call: Call
  readonly scope: Scope
  readonly subjects: readonly JudgedSubject[]
  /** Paths that are only opened where a directory exists; those of them that are opened are among the subjects. */
  readonly possiblePaths: readonly PathSubject[]
  readonly commands: readonly CommandAnalysis[]
  /** Why the call can never run, in words. */
  readonly invalid?: string
}

/** Takes a call apart, once, for all that will judge it. Never throws. */
export function expandCall(call: Call, scope: Scope): ExpandedCall {
  const cwd = resolvePath(call.cwd ?? '.', { cwd: workspaceRoot(scope), home: scope.home })
  const place: Place = { cwd, home: scope.home, roots: insideRoots(scope) }
  const commands: CommandAnalysis[] = []
  const subjects: JudgedSubject[] = []
  const invalid: string[] = []
  for (const subject of call.subjects) {
    if ('fs' in subject) {
      if (subject.path.includes('\0')) invalid.push('the path has a NUL character in it')
      else subjects.push(pathSubject(subject.fs, absolute(subject.path, place), 'tool', place))
    } else if ('net' in subject) {
      const host = parseHost(subject.net)
      if (host === undefined) invalid.push(`${JSON.stringify(subject.net)} is not a host that may be dialled`)
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
    ...(invalid[0] === undefined ? {} : { invalid: invalid[0] }),
  }
}

/** Whether a subject may be nothing at all: a word of a program about which nothing is known. */
export function isGuess(subject: JudgedSubject): boolean {
  if (subject.kind === 'command') return subject.possible !== undefined
  return (
    subject.kind === 'path' &&
    (subject.origin === 'mention' || subject.origin === 'part' || subject.origin === 'prose')
  )
}

/** An argument vector as text that a shell would read back into the same vector. */
export function quoteArgv(argv: readonly string[]): string {
  return argv.map(quoteWord).join(' ')
}

function quoteWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) && !/^\w+=/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}

type Place = { readonly cwd: string; readonly home: string | undefined; readonly roots: readonly string[] }

function commandSubjects(analysis: CommandAnalysis, place: Place): JudgedSubject[] {
  const units = analysis.units.map(
    (unit): JudgedSubject => ({
      kind: 'command',
      unit,
      doubts: [...analysis.doubts, ...unit.doubts, ...openWords(unit)],
    }),
  )
  // "Every part is allowed" must not hold for a text without parts.
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

/** An allow is for what was read, not for what a variable will make of it. */
function openWords({ words, redirections }: CommandUnit): string[] {
  const open = [...words, ...redirections.map(({ target }) => target)].find(
    ({ value }) => value === undefined,
  )
  return open === undefined ? [] : [`what ${open.text} stands for is only known when it runs`]
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
    // A guess: denies must still have something to hit when `cd "$D"` hides where a command runs.
    const from = { ...place, cwd: resolvePath(cwd ?? '.', place) }
    const subject = pathSubject(fs, absolute(path, from), origin, place)
    const entry = origin === 'argument' && fs === 'write' ? entryUse(units[unit]) : undefined
    const key = `${fs} ${origin} ${entry} ${floating} ${ifDirectory} ${subject.written}`
    if (found.has(key)) continue
    const isDoubtful = floating && origin !== 'part' && origin !== 'prose'
    found.set(key, {
      ...subject,
      ...(entry !== undefined && { entry }),
      ...(tree && { tree }),
      ...(ifDirectory && { ifDirectory }),
      ...(isDoubtful && { doubt: 'it is relative to a directory that is not known' }),
    })
  }
  return [...found.values()]
}

/** A directory that the command may read as a whole, with the file below it that must not be read. */
function withContainedFile(subject: PathSubject, held: ReadonlyMap<string, string>): PathSubject {
  const below = subject.tree && subject.fs === 'read' ? held.get(subject.path.path) : undefined
  if (below === undefined) return subject
  return { ...subject, doubt: `it is given a directory that holds ${below}, which must not be read` }
}

/** The descriptors that a command starts with are no files of the machine. */
const harmlessDevice = /^\/dev\/(null|stdin|stdout|stderr|fd\/[012])$/

/** Commands that change names and never the content of the file that has the name. */
function entryUse(unit: CommandUnit | undefined): PathSubject['entry'] {
  const name = unit === undefined ? '' : commandName(unit)
  if (name === 'rm' || name === 'unlink' || name === 'rmdir') return 'removed'
  return name === 'mv' || name === 'ln' ? 'replaced' : undefined
}

function namedHosts({ hosts }: CommandAnalysis): JudgedSubject[] {
  return hosts.map((text) => ({ kind: 'host', host: parseHost(text), text, origin: 'command' }))
}

/** The path as the system reads it: only its start is made absolute. */
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
