import { type Call, type ExpandedCall, expandCall, type JudgedSubject } from '../authority/call.js'
import { type Authority, decide } from '../authority/decide.js'
import { type DeniedReads, deniedReads, deniesHost } from '../authority/denied-reads.js'
import { expandOnDisk, type PathLookup } from '../authority/expand-on-disk.js'
import { checkSubjects, type GrantLayer, grantsHost, grantsPath } from '../authority/grant.js'
import { type RuleBook, restrictsSomeFiles } from '../authority/rule-book.js'
import type { Subject } from '../tool/subject.js'

/** Checks each access of a call at the moment of use, with resolved paths and hosts. Returns why it is refused. */
export interface CallPermit {
  /** The path is absolute, with every link resolved. */
  path(kind: 'read' | 'write', realPath: string): string | undefined
  host(host: string, port: number): string | undefined
  /** `cwd` is a real path. */
  command(text: string, cwd: string): Promise<string | undefined>
  /**
   * Returns whether the grant, without the rules, allows a command of this call to write here or connect to this host.
   * A sandbox is built from it.
   */
  grantsCommand(what: { readonly write: string } | { readonly host: string }): boolean
  /** The files that rules deny reading, for every caller: a sandbox hides them from the call's commands. */
  unreadable(): DeniedReads | undefined
  /** Whether rules deny this host, for every caller: the proxy of a sandbox refuses it to the call's commands. */
  deniesHost(host: string, port: number): boolean
}

/**
 * Checks a running tool against its grant and the rules. The gate has judged what the tool declared; this judges what
 * it does, so that a link, a search result, a redirect or an undeclared command cannot bypass a rule. What was judged
 * and approved at the gate can be used; anything else must be allowed by the rules, because no user was asked about it.
 * For `privileged` calls, the host's own, only the grant applies. `lookup` resolves the paths of a command.
 */
export function permitFor(
  call: Call,
  authority: Authority,
  privileged: boolean,
  lookup: PathLookup = {},
): CallPermit {
  const { scope } = authority.book
  const { grant } = authority
  const approved = new Set(expandCall(call, scope).subjects.map(keyOf))

  const judge = (subject: Subject): string | undefined =>
    judgeExpanded(expandCall({ ...call, subjects: [subject] }, scope))
  const judgeExpanded = (asked: ExpandedCall): string | undefined => {
    if (asked.invalid !== undefined) return asked.invalid
    const refusal = authority.grant && checkSubjects(authority.grant, asked.subjects)
    if (refusal !== undefined) return refusal.message
    if (privileged || asked.subjects.every((one) => approved.has(keyOf(one)))) return undefined
    const { verdict } = decide(asked, authority)
    if (verdict.action === 'allow') return undefined
    const why = verdict.reason ?? 'it must be asked about'
    return verdict.action === 'deny' ? why : `${why}, and the call was not approved for it`
  }
  let everywhere: readonly string[] | undefined
  /** Searches check every file that they find. Where no rule distinguishes files, one answer is reused for all. */
  const readable = (path: string): boolean => {
    everywhere ??= (scope.variables.workspace ?? []).filter(
      (root) =>
        readsAlike(call, authority) &&
        samples(root).every((one) => judge({ fs: 'read', path: one }) === undefined),
    )
    return everywhere.some((root) => path.startsWith(root) && path[root.length] === '/')
  }
  return {
    path: (kind, realPath) => {
      // The gate has already checked exactly this path against this grant and these rules.
      if (approved.has(pathKey(kind, realPath))) return undefined
      return kind === 'read' && readable(realPath) ? undefined : judge({ fs: kind, path: realPath })
    },
    host: (host, port) => judge({ net: hostText(host, port) }),
    command: async (text, cwd) =>
      judgeExpanded(await expandOnDisk({ ...call, subjects: [{ shell: { text, cwd } }] }, scope, lookup)),
    grantsCommand: (what) =>
      grant === undefined || grant.layers.every((layer, at) => layerGrantsCommand(layer, what, at === 0)),
    unreadable: () => deniedReads(call, booksOf(authority)),
    deniesHost: (host, port) => deniesHost(call, booksOf(authority), hostText(host, port)),
  }
}

/** Returns the files that rules deny the tool `read`: no model or client may get their text in another way either. */
export function unreadableFiles(authority: Authority): DeniedReads | undefined {
  return deniedReads({ tool: 'read', args: {}, subjects: [] }, booksOf(authority))
}

function hostText(host: string, port: number): string {
  return port === 80 || port === 443 ? host : `${host}:${port}`
}

/** Returns whether rules, including those of parents, treat all files alike when this call reads them. */
function readsAlike(call: Call, { book, limits = [], parent }: Authority): boolean {
  const above = typeof parent === 'function' ? parent() : parent
  return (
    ![book, ...limits].some((one) => restrictsSomeFiles(one, call)) &&
    (above === undefined || readsAlike(call, above))
  )
}

/** Returns every book whose denies apply to a call: its own, those of its mode, and those of its parents. */
function booksOf({ book, limits = [], parent }: Authority): RuleBook[] {
  const above = typeof parent === 'function' ? parent() : parent
  return [book, ...limits, ...(above === undefined ? [] : booksOf(above))]
}

/**
 * Returns paths at several depths that no specific rule matches: if they can be read, a rule for everything allows
 * it.
 */
function samples(root: string): string[] {
  const name = 'k3f9q-no-such-name'
  return [1, 2, 3, 5, 9].flatMap((depth) => {
    const directory = `${root}/${`${name}/`.repeat(depth - 1)}`
    return [`${directory}${name}`, `${directory}.${name}.x7z`]
  })
}

/**
 * Returns whether a layer allows a command of the tool to write a path or connect to a host. A declaration without
 * files leaves the files of its commands to rules and sandbox. A tool that can run any command (`bash`) cannot name
 * hosts in advance: unless it names some itself, its commands can connect to the hosts of the session option
 * `network.allowHosts`. Every other tool names its hosts. `own` is true for the declaration of the called tool; the
 * declarations of all tools together do not limit its hosts.
 */
function layerGrantsCommand(
  layer: GrantLayer,
  what: { readonly write: string } | { readonly host: string },
  own: boolean,
): boolean {
  if ('host' in what) {
    const open = layer.kind !== 'limit' && (!own || layer.requirements.net === undefined)
    return (open && runsAnyCommand(layer)) || grantsHost({ layers: [layer] }, what.host)
  }
  const silent = layer.kind !== 'limit' && layer.requirements.fs === undefined
  return silent || grantsPath({ layers: [layer] }, 'write', what.write)
}

function runsAnyCommand({ requirements }: GrantLayer): boolean {
  return (requirements.shell ?? []).some(({ cmd, args }) => cmd === '*' && args === undefined)
}

/** Returns a key that is equal only for the same subject at the same location. */
function keyOf(subject: JudgedSubject): string {
  switch (subject.kind) {
    case 'path':
      return pathKey(subject.fs, subject.path.path)
    case 'host':
      return `host ${subject.text}`
    case 'command':
      return `command ${subject.unit.cwd ?? '?'}\0${subject.unit.text}`
    case 'capability':
      return `capability ${subject.name}`
    case 'call':
      return 'call'
  }
}

function pathKey(kind: 'read' | 'write', path: string): string {
  return `${kind} ${path}`
}
