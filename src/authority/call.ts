import type { ServerToolIdentity } from '../tool/contract.js'
import type { Subject } from '../tool/subject.js'
import { type Host, parseHost } from './host-pattern.js'
import { resolvePath } from './lexical-path.js'
import { type PreparedPath, preparePath } from './path-pattern.js'
import { insideRoots, type Scope, workspaceRoot } from './scope.js'
import type { CommandAnalysis, CommandUnit } from './shell/analysis.js'
import { analyzeCommand } from './shell/analyze-command.js'

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
  readonly session?: string
  readonly agent?: string
}

/** One thing to judge. Commands come apart into the commands, files and hosts that their text names. */
export type JudgedSubject =
  | {
      readonly kind: 'path'
      readonly fs: 'read' | 'write'
      readonly path: PreparedPath
      /** Named by the tool, by a redirection, or by an argument of a command. */
      readonly origin: 'tool' | 'redirection' | 'argument'
      readonly inside: boolean
      /** Why the path is only a guess. */
      readonly doubt?: string
    }
  | {
      readonly kind: 'host'
      readonly host: Host | undefined
      readonly text: string
      readonly origin: 'tool' | 'command'
    }
  | { readonly kind: 'command'; readonly unit: CommandUnit; readonly doubts: readonly string[] }
  | { readonly kind: 'capability'; readonly name: string }
  /** The call itself, of a tool that names nothing it touches. */
  | { readonly kind: 'call' }

export type ExpandedCall = {
  readonly call: Call
  readonly scope: Scope
  readonly subjects: readonly JudgedSubject[]
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
      else subjects.push(pathSubject(subject.fs, resolvePath(subject.path, place), 'tool', place))
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
  return { call, scope, subjects, commands, ...(invalid[0] === undefined ? {} : { invalid: invalid[0] }) }
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
  return [...units, ...namedPaths(analysis, place), ...namedHosts(analysis)]
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

function namedPaths({ paths, units }: CommandAnalysis, place: Place): JudgedSubject[] {
  return paths
    .filter(({ path }) => !harmlessDevices.has(path))
    .map(({ fs, path, cwd, unit }) => {
      const floating = cwd === undefined && !/^[/~]/.test(path)
      // A guess: denies must still have something to hit when `cd "$D"` hides where a command runs.
      const from = { cwd: resolvePath(cwd ?? '.', place), home: place.home }
      const redirected = units[unit]?.redirections.some(
        ({ target, mode }) => (target.value ?? target.text) === path && (mode === 'readwrite' || mode === fs),
      )
      const subject = pathSubject(fs, resolvePath(path, from), redirected ? 'redirection' : 'argument', place)
      return floating ? { ...subject, doubt: 'it is relative to a directory that is not known' } : subject
    })
}

const harmlessDevices = new Set(['/dev/null', '/dev/stdin', '/dev/stdout', '/dev/stderr'])

function namedHosts({ hosts }: CommandAnalysis): JudgedSubject[] {
  return hosts.map((text) => ({ kind: 'host', host: parseHost(text), text, origin: 'command' }))
}

function pathSubject(
  fs: 'read' | 'write',
  path: string,
  origin: 'tool' | 'redirection' | 'argument',
  { roots }: Place,
): JudgedSubject & { kind: 'path' } {
  const inside = roots.some((root) => isBelow(root, path))
  return { kind: 'path', fs, path: preparePath(path), origin, inside }
}

function isBelow(root: string, path: string): boolean {
  const normal = resolvePath(root, { cwd: '/' })
  return normal === '/' || path === normal || path.startsWith(`${normal}/`)
}
