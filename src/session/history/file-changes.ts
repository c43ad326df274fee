import type { FileChangeNote, FileImage } from '../../store/records.js'
import { omitUndefined } from '../../tool/omit-undefined.js'

/** The changes to files by one run or one undo. */
export type ChangeSet = {
  readonly id: string
  /** For an undo: the id of the run or undo that it reverts. */
  readonly undoes?: string
  /** By path, as in the records. */
  readonly files: Map<string, ChangedFile>
}

/** One file that a run changed: its state before, and every version that the run may have left. */
export type ChangedFile = {
  readonly path: string
  readonly before: FileImage
  /** The versions that the run wrote, in order; null: no file. */
  readonly written: (string | null)[]
  /** Whether the change was undone since. */
  undone: boolean
}

export type FileChangesOptions = {
  /** The changes that earlier processes recorded. */
  readonly restored?: readonly FileChangeNote[] | undefined
  /** Saves records and contents; absent: both are only in memory, up to a limit. */
  readonly keep?: ChangesKeeper | undefined
  /** Whether this content can be saved next to the log. */
  mayKeep?(bytes: Uint8Array): boolean
  now(): number
}

export type ChangesKeeper = {
  change(note: FileChangeNote): Promise<void>
  writeImage(bytes: Uint8Array): Promise<string>
  readImage(digest: string): Promise<Uint8Array | undefined>
}

/** The run or undo that changes a file; `undoes` is what an undo reverts. */
export type ChangeOwner = { readonly id: string; readonly undoes?: string }

/** The state of a file, with its content if it is saved. */
export type FoundImage = { readonly image: FileImage; readonly bytes?: Uint8Array }

/** A shared empty map, because most sessions change no file. */
const noSets = new Map<string, ChangeSet>()

/**
 * The changes to files, by run. Each is recorded before it is made, with the state of the file before the run first
 * changed it. Without a store the contents are held in memory, and the oldest are dropped first.
 */
export class FileChanges {
  readonly #options: FileChangesOptions
  #sets = noSets
  #held: Map<string, Uint8Array> | undefined
  #heldBytes = 0
  /** Serializes the changes to one path. */
  #turns: Map<string, Promise<void>> | undefined

  constructor(options: FileChangesOptions) {
    this.#options = options
    for (const note of options.restored ?? []) this.#take(note)
  }

  get(id: string): ChangeSet | undefined {
    return this.#sets.get(id)
  }

  /**
   * Returns the runs with changes that were not undone, newest first. Undos and the host's direct calls are not runs.
   */
  openRuns(): ChangeSet[] {
    return [...this.#sets.values()]
      .filter(
        ({ id, undoes, files }) =>
          undoes === undefined && id !== hostCalls && [...files.values()].some(canBeUndone),
      )
      .reverse()
  }

  /** Returns the last run or undo after this one that wrote the same file. */
  laterWriter(id: string, path: string): string | undefined {
    const sets = [...this.#sets.values()]
    return sets.slice(sets.findIndex((set) => set.id === id) + 1).findLast(({ files }) => files.has(path))?.id
  }

  /** Records a change before it is made. `look` reads the file when the run changes it for the first time. */
  async note(
    owner: ChangeOwner,
    path: string,
    after: string | null,
    look: () => Promise<FoundImage>,
  ): Promise<void> {
    this.#turns ??= new Map()
    const turns = this.#turns
    const before = turns.get(path) ?? Promise.resolve()
    const turn = before.then(() => this.#note(owner, path, after, look))
    const settled = turn.catch(() => undefined)
    turns.set(path, settled)
    try {
      await turn
    } finally {
      if (turns.get(path) === settled) turns.delete(path)
    }
  }

  /** Returns the earlier content of a file; undefined when it is no longer saved. */
  async content({ before }: ChangedFile): Promise<Uint8Array | undefined> {
    if (before.kind !== 'file') return undefined
    const held = this.#held?.get(before.version)
    if (held !== undefined || before.digest === undefined) return held
    return this.#options.keep?.readImage(before.digest)
  }

  async #note(
    owner: ChangeOwner,
    path: string,
    after: string | null,
    look: () => Promise<FoundImage>,
  ): Promise<void> {
    const known = this.#sets.get(owner.id)?.files.has(path) ?? false
    const image = known ? undefined : await this.#kept(await look())
    const note: FileChangeNote = {
      type: 'file_change',
      runId: owner.id,
      ...omitUndefined({ undoes: owner.undoes }),
      path,
      ...omitUndefined({ before: image }),
      after,
      atMs: this.#options.now(),
    }
    await this.#options.keep?.change(note)
    this.#take(note)
  }

  async #kept({ image, bytes }: FoundImage): Promise<FileImage> {
    if (image.kind !== 'file' || bytes === undefined) return image
    const { keep } = this.#options
    if (keep === undefined || this.#options.mayKeep?.(bytes) === false) {
      this.#hold(image.version, bytes)
      return image
    }
    return { ...image, digest: await keep.writeImage(bytes) }
  }

  #hold(version: string, bytes: Uint8Array): void {
    this.#held ??= new Map()
    if (this.#held.has(version)) return
    this.#held.set(version, bytes)
    this.#heldBytes += bytes.length
    for (const [oldest, content] of this.#held) {
      if (this.#heldBytes <= maxHeldBytes) return
      this.#held.delete(oldest)
      this.#heldBytes -= content.length
    }
  }

  #take({ runId: id, undoes, path, before, after }: FileChangeNote): void {
    const set = this.#sets.get(id) ?? this.#begin(id, undoes)
    const file = set.files.get(path)
    if (file === undefined)
      set.files.set(path, {
        path,
        before: before ?? { kind: 'unknown', why: 'its earlier content is not in the log' },
        written: [after],
        undone: false,
      })
    else {
      file.written.push(after)
      // A run that writes again can be undone again.
      file.undone = false
    }
    if (undoes !== undefined) this.#turnBack(undoes, path)
  }

  /** Marks a change as undone. Undoing an undo restores the change that it had undone. */
  #turnBack(id: string, path: string): void {
    const undone = this.#sets.get(id)
    const file = undone?.files.get(path)
    if (undone === undefined || file === undefined) return
    file.undone = true
    const original = undone.undoes === undefined ? undefined : this.#sets.get(undone.undoes)?.files.get(path)
    if (original !== undefined) original.undone = false
  }

  #begin(id: string, undoes: string | undefined): ChangeSet {
    const set: ChangeSet = { id, files: new Map(), ...omitUndefined({ undoes }) }
    if (this.#sets === noSets) this.#sets = new Map()
    this.#sets.set(id, set)
    for (const [oldest] of this.#sets) {
      if (this.#sets.size <= maxSets) break
      this.#sets.delete(oldest)
    }
    return set
  }
}

/** Whether a file was changed and not restored. Writing the same content again is not a change. */
export function canBeUndone({ undone, before, written }: ChangedFile): boolean {
  if (undone) return false
  if (before.kind === 'unknown') return true
  const was = before.kind === 'file' ? before.version : null
  return written.some((version) => version !== was)
}

/** The owner of changes made by the host's direct calls. */
export const hostCalls = 'host'

const maxHeldBytes = 64 * 1024 * 1024
const maxSets = 1_000
