import { type GlobToken, matchesGlob, parseGlob } from '../authority/glob.js'
import { resolvePath } from '../authority/lexical-path.js'
import { compilePathPattern, matchesPath, type PathPattern, preparePath } from '../authority/path-pattern.js'
import { messageOf } from '../tool/errors.js'
import { isRecord } from '../tool/json.js'
import { type CommandMatch, compileCommandPattern } from './command-pattern.js'
import { HookError } from './errors.js'
import { factsOf, type HookEventName } from './events.js'
import { checkFields } from './fields.js'

/** When a hook is called. All given fields must match. */
export type HookMatcher = {
  /** The exact name of the tool. */
  readonly tool?: string
  /** A glob for the files that the call names: `src/**`, `**\/.env*`. Relative patterns start at the workspace. */
  readonly pathPattern?: string
  /** A regular expression for the command that the call runs. */
  readonly commandPattern?: string | RegExp
  readonly sessionId?: string
  /** A glob for the skill's name. */
  readonly skill?: string
}

/** The session and workspace that a matcher applies to. */
export type HookPlace = {
  readonly sessionId: string
  readonly workspace: string
  /** Whether the volume treats `.ENV` and `.env` as the same file. */
  readonly ignoreCase?: boolean
}

export type CompiledMatcher = (payload: object, place: HookPlace) => boolean

const fields = {
  tool: 'string',
  pathPattern: 'string',
  commandPattern: 'pattern',
  sessionId: 'string',
  skill: 'string',
} as const

/**
 * Compiles a matcher. A matcher that can never match its event is refused, because a guard that never runs looks like
 * one that never objects. If it is undecided whether a call matches, the hook is called: its handler gets the whole
 * call and can check it.
 */
export function compileMatcher(event: HookEventName, matcher: unknown): CompiledMatcher {
  const given = checkFields<HookMatcher>('matcher', matcher, fields)
  checkSubject(event, given)
  const { tool, sessionId } = given
  const tests: CompiledMatcher[] = []
  if (sessionId !== undefined) tests.push((_, place) => place.sessionId === sessionId)
  if (tool !== undefined) tests.push((payload) => fieldOf(payload, 'tool') === tool)
  if (given.skill !== undefined) tests.push(skillTest(given.skill))
  if (given.commandPattern !== undefined) tests.push(commandTest(given.commandPattern))
  if (given.pathPattern !== undefined) tests.push(pathTest(given.pathPattern))
  return tests.length === 0 ? matchesAll : (payload, place) => tests.every((test) => test(payload, place))
}

/** Shared, because every session has its own copy of each hook. */
const matchesAll: CompiledMatcher = () => true

function checkSubject(event: HookEventName, given: HookMatcher): void {
  const { about } = factsOf(event)
  for (const name of ['tool', 'pathPattern', 'commandPattern', 'skill'] as const) {
    const needed = name === 'skill' ? 'skill' : 'tool'
    if (given[name] !== undefined && about !== needed)
      throw new HookError(`matcher.${name} can never match: '${event}' is not about a ${needed}`)
  }
}

function skillTest(glob: string): CompiledMatcher {
  const sequences = readGlob(glob)
  return (payload) => {
    const name = fieldOf(payload, 'skill_name')
    return typeof name === 'string' && sequences.some((tokens) => matchesGlob(tokens, name, false))
  }
}

/** Parses a glob for a skill's name. The name is one segment, even if it contains slashes. */
function readGlob(glob: string): GlobToken[][] {
  const flat = (token: GlobToken): GlobToken => {
    if (token.kind === 'slash') return { kind: 'char', char: '/' }
    return token.kind === 'deep' ? { kind: 'star' } : token
  }
  return named('matcher.skill', () => parseGlob(glob).map((tokens) => tokens.map(flat)))
}

function commandTest(pattern: string | RegExp): CompiledMatcher {
  const test: (command: string) => CommandMatch = compileCommandPattern(pattern)
  return (payload) => commandsOf(payload).some((command) => test(command) !== 'no')
}

function pathTest(text: string): CompiledMatcher {
  const compile = ({ workspace, ignoreCase = false }: HookPlace): PathPattern =>
    compilePathPattern(text, {
      scope: { variables: { workspace: [workspace] }, ignoreCase },
      // Hooks are guards: `**` starts anywhere, and a directory that matches covers everything below it.
      use: 'restrict',
    })
  const probe = named('matcher.pathPattern', () => compile({ sessionId: '', workspace: '/' }))
  if (probe.sequences.length === 0)
    throw new HookError(
      `matcher.pathPattern can never match: hooks do not know the directory of ${JSON.stringify(text)}`,
    )
  // A child session may have a different workspace from the session where the hook was registered.
  const byPlace = new Map<string, PathPattern>()
  return (payload, place) => {
    const paths = pathsOf(payload)
    if (paths.length === 0) return false
    const key = `${place.ignoreCase === true}:${place.workspace}`
    const pattern = byPlace.get(key) ?? compile(place)
    if (byPlace.size < maxPlaces) byPlace.set(key, pattern)
    return paths.some((path) =>
      matchesPath(pattern, preparePath(resolvePath(path, { cwd: place.workspace }))),
    )
  }
}

const maxPlaces = 64

function named<Value>(field: string, read: () => Value): Value {
  try {
    return read()
  } catch (error) {
    throw new HookError(`${field}: ${messageOf(error)}`)
  }
}

const pathNames = [
  'file_path',
  'filePath',
  'path',
  'paths',
  'file',
  'files',
  'filename',
  'file_name',
  'notebook_path',
  'directory',
  'dir',
  'cwd',
  'from',
  'to',
  'source',
  'destination',
  'target',
]

/** The paths that the gate found in the call, and those that the arguments seem to name. */
function pathsOf(payload: object): readonly string[] {
  const named = stringsIn(fieldOf(payload, 'paths'))
  const args = fieldOf(payload, 'args')
  return isRecord(args) ? [...named, ...pathNames.flatMap((name) => stringsIn(args[name]))] : named
}

function commandsOf(payload: object): readonly string[] {
  const named = stringsIn(fieldOf(payload, 'commands'))
  const args = fieldOf(payload, 'args')
  // The gate usually reports the commands in the arguments, so duplicates are removed.
  return isRecord(args) ? [...new Set([...named, ...stringsIn(args['command'])])] : named
}

function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []
}

function fieldOf(payload: object, name: string): unknown {
  return isRecord(payload) ? payload[name] : undefined
}
