import type { RequirementSet } from '../tool/requirement.js'
import { isGuess, type JudgedSubject } from './call.js'
import { compileHostPattern, type Host, type HostPattern, matchesHost, parseHost } from './host-pattern.js'
import {
  compilePathPattern,
  matchesPath,
  type PathPattern,
  type PreparedPath,
  preparePath,
} from './path-pattern.js'
import { matchesCommand, unionRequirements } from './requirements.js'
import type { Scope } from './scope.js'
import type { Word } from './shell/analysis.js'
import { assertVariables, compileRequirements } from './variables.js'

/**
 * One set of permissions. A grant is a list of layers that must all agree. Sets are never merged as text, so an
 * intersection is exact for every pattern.
 */
export type GrantLayer = {
  /** The name of the set, for messages: `the ceiling`. */
  readonly name: string
  /** The option that a user would change to extend it. */
  readonly option: string
  /** The requirements with variables replaced. */
  readonly requirements: RequirementSet
  /**
   * A `limit` denies everything that it leaves out. A `declaration` without files leaves the files that a command
   * names to rules and sandbox. `together`, the declarations of all of an agent's tools, always does so, because the
   * files of one tool have nothing to do with the commands of another.
   */
  readonly kind: 'declaration' | 'together' | 'limit'
  readonly read: readonly PathPattern[]
  readonly write: readonly PathPattern[]
  readonly hosts: readonly HostPattern[]
}

/** The permissions of an agent or a call: a list of layers that must all agree. */
export type Grant = { readonly layers: readonly GrantLayer[] }

/** The sources of a grant: manifest, tools, ceiling and parent. */
export type GrantOptions = {
  readonly scope: Scope
  readonly manifest?: RequirementSet | undefined
  /** The requirements of each of the agent's tools: adding a tool extends the grant. */
  readonly tools?: readonly RequirementSet[]
  /**
   * The upper limit. Absent: no limit. A list that is missing or empty grants nothing of that kind; for no limit,
   * write the whole tree for `fs`, `net: { hosts: ['*'] }`, `shell: [{ cmd: '*' }]`, `capabilities: ['*']`.
   */
  readonly ceiling?: RequirementSet | undefined
  /** The grant of the parent, for a subagent. */
  readonly parent?: Grant
}

/** Creates the grant of an agent: (manifest ∪ tools) ∩ ceiling ∩ parent. Throws for an invalid pattern or variable. */
export function createGrant({ scope, manifest = {}, tools = [], ceiling, parent }: GrantOptions): Grant {
  const declared = layer(unionRequirements(manifest, ...tools), scope, {
    name: 'what the manifest and the tools declare',
    option: 'the `requires` of the manifest or of a tool',
    kind: 'together',
  })
  const limits = ceiling === undefined ? [] : [layer(ceiling, scope, ceilingName)]
  return { layers: [declared, ...limits, ...(parent?.layers ?? [])] }
}

/**
 * Returns the grant of one call: the tool's own requirements inside the agent's grant, so that one tool cannot use
 * another's permissions.
 */
export function grantForTool(grant: Grant, tool: string, requires: RequirementSet, scope: Scope): Grant {
  const own = layer(requires, scope, {
    name: `what the tool ${JSON.stringify(tool)} declares`,
    option: `the \`requires\` of the tool ${JSON.stringify(tool)}`,
    kind: 'declaration',
  })
  return { layers: [own, ...grant.layers] }
}

/** Returns a grant that allows only what each of these grants allows. */
export function intersectGrants(first: Grant, ...more: readonly Grant[]): Grant {
  return { layers: [...new Set([first, ...more].flatMap(({ layers }) => layers))] }
}

/** Adds a limit to a grant. A list that the limit leaves out, or leaves empty, grants nothing of that kind. */
export function limitGrant(
  grant: Grant,
  limit: RequirementSet,
  scope: Scope,
  named: { readonly name: string; readonly option: string },
): Grant {
  return { layers: [...grant.layers, layer(limit, scope, { ...named, kind: 'limit' })] }
}

/** Returns whether a grant includes reading or writing an absolute path. */
export function grantsPath(grant: Grant, fs: 'read' | 'write', path: string | PreparedPath): boolean {
  const prepared = typeof path === 'string' ? preparePath(path) : path
  return grant.layers.every((one) => layerGrantsPath(one, fs, prepared))
}

/** Returns whether a grant includes a host, such as `api.example.com:443`. */
export function grantsHost(grant: Grant, host: string): boolean {
  const parsed = parseHost(host)
  return grant.layers.every((one) => layerGrantsHost(one, parsed))
}

/** Returns whether a grant includes a command, given as an argument vector. */
export function grantsCommand(grant: Grant, argv: readonly string[]): boolean {
  const words = argv.map((value) => ({ text: value, value }))
  return grant.layers.every((one) => layerGrantsCommand(one, words))
}

/** Returns whether a grant includes a capability. */
export function grantsCapability(grant: Grant, name: string): boolean {
  return grant.layers.every((one) => layerGrantsCapability(one, name))
}

/** A subject outside the grant, with the layer that denies it. */
export type GrantRefusal = {
  readonly subject: JudgedSubject
  readonly layer: GrantLayer
  /** What was requested, what is granted, and which option would change it. */
  readonly message: string
}

/** Returns the first subject of a call that is outside the grant; undefined when all are inside. */
export function checkSubjects(grant: Grant, subjects: readonly JudgedSubject[]): GrantRefusal | undefined {
  for (const subject of subjects) {
    for (const one of grant.layers) {
      if (!layerGrants(one, subject)) return { subject, layer: one, message: refusal(one, subject) }
    }
  }
  return undefined
}

const ceilingName = { name: 'the ceiling', option: 'the session option `ceiling`', kind: 'limit' } as const

function layer(
  requirements: RequirementSet,
  scope: Scope,
  named: Pick<GrantLayer, 'name' | 'option' | 'kind'>,
): GrantLayer {
  assertVariables(requirements)
  const paths = (patterns: readonly string[] = []): PathPattern[] =>
    patterns.map((pattern) => compilePathPattern(pattern, { scope, use: 'permit' }))
  const compiled = compileRequirements(requirements, scope.variables)
  return {
    ...named,
    requirements: compiled,
    read: paths(requirements.fs?.read),
    write: paths(requirements.fs?.write),
    hosts: (compiled.net?.hosts ?? []).map(compileHostPattern),
  }
}

function layerGrants(one: GrantLayer, subject: JudgedSubject): boolean {
  // Any word may be a path or a command: rules and the sandbox restrict the words that are.
  if (isGuess(subject)) return true
  switch (subject.kind) {
    case 'path':
      if (subject.origin !== 'tool' && leavesFilesToRules(one, subject.fs)) return true
      return layerGrantsPath(one, subject.fs, subject.path)
    case 'host':
      // A command may only print a URL. The sandbox's proxy limits its connections to the grant, and rules judge it
      // before.
      return subject.origin === 'command' || layerGrantsHost(one, subject.host)
    case 'command':
      return layerGrantsCommand(one, subject.unit.words)
    case 'capability':
      return layerGrantsCapability(one, subject.name)
    case 'call':
      return true
  }
}

function leavesFilesToRules({ kind, requirements }: GrantLayer, fs: 'read' | 'write'): boolean {
  return kind === 'together' || (kind === 'declaration' && requirements.fs?.[fs] === undefined)
}

function layerGrantsPath(one: GrantLayer, fs: 'read' | 'write', path: PreparedPath): boolean {
  return one[fs].some((pattern) => matchesPath(pattern, path))
}

function layerGrantsHost(one: GrantLayer, host: Host | undefined): boolean {
  return one.hosts.some((pattern) => matchesHost(pattern, host, 'permit'))
}

/** `cmd: '*'` matches any command: the tool `bash` declares it because its commands are not known in advance. */
function layerGrantsCommand({ requirements }: GrantLayer, words: readonly Word[]): boolean {
  const shell = requirements.shell ?? []
  if (shell.some(({ cmd, args }) => cmd === '*' && args === undefined)) return true
  const argv = words.flatMap(({ value }) => (value === undefined ? [] : [value]))
  const known = argv.length === words.length && argv.length > 0
  return shell.some((one) =>
    one.args === undefined ? one.cmd === words[0]?.value : known && matchesCommand(one, argv),
  )
}

function layerGrantsCapability({ requirements, read, write, hosts }: GrantLayer, name: string): boolean {
  if (name === 'fs.read') return read.length > 0
  if (name === 'fs.write') return write.length > 0
  if (name === 'net.fetch') return hosts.length > 0
  if (name === 'shell.run') return (requirements.shell ?? []).length > 0
  return (requirements.capabilities ?? []).some((one) => one === name || one === '*')
}

function refusal(one: GrantLayer, subject: JudgedSubject): string {
  const { asked, granted, list } = describe(one, subject)
  const allowed = granted.length === 0 ? 'grants none' : `grants only ${someOf(granted)}`
  const open =
    subject.kind === 'path' && !subject.inside
      ? 'open the session on a directory that contains the path, or '
      : ''
  return `${asked} is outside the grant: ${one.name} ${allowed}. To change that, ${open}extend \`${list}\` in ${one.option}.`
}

function describe(
  { requirements }: GrantLayer,
  subject: JudgedSubject,
): { asked: string; granted: readonly string[]; list: string } {
  const { fs, net, shell, capabilities } = requirements
  switch (subject.kind) {
    case 'path':
      return {
        asked: `${subject.fs === 'read' ? 'Reading' : 'Writing'} ${JSON.stringify(subject.path.path)}`,
        granted: fs?.[subject.fs] ?? [],
        list: `fs.${subject.fs}`,
      }
    case 'host':
      return {
        asked: `Reaching ${JSON.stringify(subject.text)}`,
        granted: net?.hosts ?? [],
        list: 'net.hosts',
      }
    case 'command':
      return {
        asked: `Running ${JSON.stringify(subject.unit.text)}`,
        granted: (shell ?? []).map(({ cmd, args }) => [cmd, ...(args ?? []).map(argText)].join(' ')),
        list: 'shell',
      }
    case 'capability':
      return { asked: `The capability "${subject.name}"`, granted: capabilities ?? [], list: 'capabilities' }
    case 'call':
      return { asked: 'The call', granted: [], list: 'capabilities' }
  }
}

function argText(arg: string | { readonly wildcard: true } | { readonly prefix: string }): string {
  return typeof arg === 'string' ? arg : 'prefix' in arg ? `${arg.prefix}…` : '<any>'
}

function someOf(items: readonly string[]): string {
  const shown = items.slice(0, 5).map((item) => JSON.stringify(item))
  return shown.join(', ') + (items.length > shown.length ? ` and ${items.length - shown.length} more` : '')
}
