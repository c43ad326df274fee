import type { SessionState } from '../../store/session-state.js'
import { CapstanError } from '../../tool/errors.js'
import { isRecord } from '../../tool/json.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import type { FileChange, RuntimeFiles } from '../../tool/runtime.js'
import { decodeText } from '../../workspace/files/decode-text.js'
import { FileChangedError } from '../../workspace/files/errors.js'
import type { WorkspaceFiles } from '../../workspace/files/index.js'
import { versionOf } from '../../workspace/files/version.js'
import { share } from '../flat-value.js'
import { hostCalls } from './file-changes.js'

/** The error when a tool of the model would overwrite content that the model has not seen. */
function staleWrite(path: string): CapstanError {
  return new CapstanError(
    'file_stale',
    `${JSON.stringify(path)} has changed since you last read or wrote it: a command, another tool, the user or another program ` +
      'changed it. It was left as it is. Read it again, then repeat the change on what it contains now.',
  )
}

/** The error when the session requires a file to be read before it is changed. */
function unreadWrite(path: string): CapstanError {
  return new CapstanError(
    'file_unread',
    `${JSON.stringify(path)} exists and you have not read it. It was left as it is. Read it first, then change it ` +
      '(the session option requireReadBeforeWrite is set).',
  )
}

/** What the model has seen of a file: the version, or (before a resume) when it read the file or what it wrote. */
type Known =
  | { readonly version: string }
  | { readonly readAtMs: number | undefined; readonly wrote: string | undefined }

/** The content that the model last read or wrote, by real path. */
export class SeenFiles {
  readonly #known = new Map<string, Known>()
  readonly #earlier: ReadonlyMap<string, Known> | undefined

  constructor(restored?: SessionState) {
    this.#earlier = restored && knownBefore(restored)
  }

  get(realPath: string, root: string): Known | undefined {
    const relative = realPath.startsWith(`${root}/`) ? realPath.slice(root.length + 1) : realPath
    return this.#known.get(realPath) ?? this.#earlier?.get(relative) ?? this.#earlier?.get(realPath)
  }

  set(realPath: string, version: string): void {
    // Sessions on one workspace read the same files, so their strings are shared.
    share(realPath)
    share(version)
    this.#known.delete(realPath)
    this.#known.set(realPath, { version })
    const [oldest] = this.#known.keys()
    if (this.#known.size > maxKnown && oldest !== undefined) this.#known.delete(oldest)
  }
}

/** The maximum number of files. Beyond it, the oldest counts as never read. */
const maxKnown = 10_000
/**
 * Larger files are shown in parts and rarely rewritten: reading a whole file to get its version would cost too much.
 */
const maxTrackedBytes = 8 * 1024 * 1024

export type SeenUse = {
  /** Whether the tool shows the model what it reads. */
  readonly reads: boolean
  /** Whether the tool writes what the model requested, so that the model has the result. */
  readonly edits: boolean
  readonly staleWriteCheck: boolean
  readonly requireReadBeforeWrite: boolean
}

/**
 * Wraps the files of one call: records what the model reads and writes, and refuses to overwrite a file whose content
 * has changed since. It compares the content; only for what the model read before the session was resumed, which is not
 * in the log, it compares when the file changed. Commands, other tools, subagents and the host write without this
 * wrapper, so their writes count as changes.
 */
export function trackSeenFiles(
  files: RuntimeFiles,
  whole: WorkspaceFiles,
  seen: SeenFiles,
  use: SeenUse,
): RuntimeFiles {
  const knowledge: Knowledge = {
    async find(path) {
      const real = await whole.resolve(path).catch(() => undefined)
      return real === undefined ? undefined : seen.get(real, whole.root)
    },
    async learn(path, version) {
      const real = await whole.resolve(path).catch(() => undefined)
      if (real !== undefined) seen.set(real, version)
    },
  }
  return {
    ...files,
    ...(use.reads && readingFiles(files, whole, knowledge)),
    ...(use.edits && editingFiles(files, whole, knowledge, use)),
  }
}

type Knowledge = {
  find(path: string): Promise<Known | undefined>
  learn(path: string, version: string): Promise<void>
}

function readingFiles(
  files: RuntimeFiles,
  whole: WorkspaceFiles,
  { learn }: Knowledge,
): Partial<RuntimeFiles> {
  const inParts = new Map<string, Promise<void>>()
  const read: RuntimeFiles['read'] = async (path, options) => {
    const content = await files.read(path, options)
    await learn(path, content.version)
    return content
  }
  return {
    read,
    readText: async (path, options) => decodeText(path, (await read(path, options)).bytes),
    async readRange(path, start, end) {
      const bytes = await files.readRange(path, start, end)
      if (start === 0 && bytes.length < end) await learn(path, await versionOf(bytes))
      else {
        // Once per call: a change after that makes the next write fail, which is safe.
        const learned = inParts.get(path) ?? learnWhole(path)
        inParts.set(path, learned)
        await learned
      }
      return bytes
    },
  }

  async function learnWhole(path: string): Promise<void> {
    const content = await whole.read(path, { maxBytes: maxTrackedBytes }).catch(() => undefined)
    if (content !== undefined) await learn(path, content.version)
  }
}

function editingFiles(
  files: RuntimeFiles,
  whole: WorkspaceFiles,
  { find, learn }: Knowledge,
  { staleWriteCheck, requireReadBeforeWrite }: SeenUse,
): Partial<RuntimeFiles> {
  /** Throws if a change based on this version of a file is not allowed. */
  const check = async (path: string, version: string): Promise<void> => {
    const known = await find(path)
    if (known === undefined && requireReadBeforeWrite) throw unreadWrite(path)
    if (known !== undefined && staleWriteCheck && !(await isStill(known, version, whole, path)))
      throw staleWrite(path)
  }
  /** The version that a write can replace: null when there must be no file, undefined for any version. */
  const replaceable = async (path: string): Promise<string | null | undefined> => {
    const known = await find(path)
    if (known === undefined ? !requireReadBeforeWrite : !staleWriteCheck) return undefined
    // Independent of whether the call is allowed to read the file: its content is not shown.
    const version = await whole.read(path).then(
      (content) => content.version,
      (thrown: unknown) => (isMissing(thrown) ? null : undefined),
    )
    if (typeof version === 'string') await check(path, version)
    return version
  }
  return {
    async write(path, data, options = {}) {
      const { ifVersion: stated } = options
      if (typeof stated === 'string') await check(path, stated)
      const ifVersion = stated === undefined ? await replaceable(path) : stated
      try {
        const outcome = await files.write(path, data, {
          ...options,
          ...omitUndefined({ ifVersion }),
        })
        await learn(path, outcome.version)
        return outcome
      } catch (thrown) {
        throw stated === undefined && thrown instanceof FileChangedError ? staleWrite(path) : thrown
      }
    },
    async change(changes) {
      for (const change of changes)
        if (change.kind !== 'create') await check(change.path, change.before.version)
      await files.change(changes)
      for (const change of changes) await learnChange(change, learn)
    },
  }
}

function isMissing(thrown: unknown): boolean {
  return thrown instanceof CapstanError && thrown.code === 'file_not_found'
}

async function learnChange(
  change: FileChange,
  learn: (path: string, version: string) => Promise<void>,
): Promise<void> {
  if (change.kind === 'remove') return
  const path = change.kind === 'move' ? change.to : change.path
  const after = change.after
  const version =
    after !== undefined
      ? await versionOf(new TextEncoder().encode(after))
      : change.kind === 'move'
        ? change.before.version
        : undefined
  if (version !== undefined) await learn(path, version)
}

async function isStill(known: Known, version: string, whole: WorkspaceFiles, path: string): Promise<boolean> {
  if ('version' in known) return known.version === version
  if (known.wrote === version) return true
  if (known.readAtMs === undefined) return false
  const changedAt = await whole.changedAt(path)
  return changedAt + dateErrorOf(changedAt) <= known.readAtMs
}

/**
 * Returns how much later than its date a file can have changed: systems date a change by a clock that advances every
 * few milliseconds, and some file systems store only whole or even seconds.
 */
function dateErrorOf(changedAt: number): number {
  return changedAt % 1_000 === 0 ? 2_000 : 20
}

/** What the model read and wrote before the session was resumed, by path relative to the workspace root. */
function knownBefore({ messages, changes }: SessionState): ReadonlyMap<string, Known> {
  const found = new Map<string, { readAtMs: number | undefined; wrote: string | undefined }>()
  const entry = (path: string) => {
    const known = found.get(path) ?? { readAtMs: undefined, wrote: undefined }
    found.set(path, known)
    return known
  }
  for (const { row, message, hidden } of messages) {
    if (hidden || message.role !== 'assistant') continue
    for (const part of message.content) {
      if (part.type !== 'tool_call' || part.function.name !== 'read') continue
      const path = pathIn(part.function.arguments)
      if (path !== undefined) entry(path).readAtMs = row.createdAtMs
    }
  }
  for (const { path, after, runId, undoes } of changes)
    if (runId !== hostCalls && undoes === undefined) entry(path).wrote = after ?? undefined
  return found
}

function pathIn(args: unknown): string | undefined {
  const path = isRecord(args) ? args['file_path'] : undefined
  return typeof path === 'string' ? path.replace(/^\.\//, '') : undefined
}
