import { forgetHistory } from '../model/append-only.js'
import type { Durability, SessionStore } from '../store/session-store.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import { backendAddress } from '../workspace/backend/backend.js'
import { FileChanges, type FileChangesOptions, hostCalls } from './history/file-changes.js'
import { InterruptedCalls } from './interrupted-calls.js'
import { createRecordedConversation, type RecordedConversation } from './journal/recorded-conversation.js'
import { optionsToKeep, type RestoredSession } from './journal/restore.js'
import { SessionRecorder, type SessionRecorderOptions } from './journal/session-recorder.js'
import type { SessionKernel } from './kernel.js'
import { backendOf, childRow } from './setup.js'
import { SessionTitle } from './title.js'

/** The log of a session: in its store, or only in memory if it has none. */
export class SessionLog {
  readonly #kernel: SessionKernel
  /** Writes the log; absent without a store. */
  readonly recorder: SessionRecorder | undefined
  readonly conversation: RecordedConversation
  /** The changes that tools made to files, by run. */
  readonly changes: FileChanges
  readonly title: SessionTitle
  readonly interrupted: InterruptedCalls

  constructor(kernel: SessionKernel) {
    const { options, parent, restored } = kernel.setup
    this.#kernel = kernel
    this.title = new SessionTitle(options.title ?? restored?.session?.title)
    this.recorder = createRecorder(kernel, this.title)
    if (restored === undefined && options.signal?.aborted !== true) this.recorder?.create()
    this.conversation = this.recorder?.conversation ?? unsavedConversation(kernel)
    const shared = parent?.isolated ? undefined : parent?.session.log.changes
    this.changes = shared ?? watchChanges(kernel, this.recorder)
    this.interrupted = new InterruptedCalls(kernel)
  }

  /** Returns the run that file changes made now are attributed to. */
  changesOwner(): string {
    return this.#kernel.parent?.changesOf ?? this.#kernel.activeRunId ?? hostCalls
  }

  /** Sets the title from the first prompt, if the session has no messages yet. */
  titleAfter(prompt: string): void {
    if (this.title.current !== undefined || !this.conversation.isEmpty) return
    const title = this.title.takeFrom(this.#kernel.redactor.withoutKeys?.(prompt) ?? prompt)
    if (title !== undefined) this.recorder?.noteSession({ title })
  }

  /** Drops what can be rebuilt from the rest. Called between runs. */
  rest(): void {
    const { view } = this.conversation
    if (view.length <= maxForgottenMessages) forgetHistory(view)
    this.conversation.rest(maxForgottenMessages)
    this.recorder?.rest()
  }

  async close(): Promise<void> {
    const title = this.title.toRepeat
    if (title !== undefined && !this.conversation.isEmpty) this.recorder?.noteSession({ title })
    await this.recorder?.close()
  }
}

/** Rebuilding more messages at each run would cost more than the saved memory is worth. */
const maxForgottenMessages = 64

/** Returns the workspace as recorded in the log: a directory of this machine, or the address of a backend. */
export function addressOf({ setup }: SessionKernel): string {
  const backend = backendOf(setup)
  return backend === undefined ? setup.root : backendAddress(backend)
}

function createRecorder(kernel: SessionKernel, title: SessionTitle): SessionRecorder | undefined {
  const { sessionStore: store } = kernel.options
  if (store === undefined) return undefined
  return new SessionRecorder(new RecorderOptions(kernel, store, title))
}

/** The options of a session's recorder. Copies nothing, because every waiting session has one. */
class RecorderOptions implements SessionRecorderOptions {
  readonly #kernel: SessionKernel
  readonly #title: SessionTitle
  readonly store: SessionStore

  constructor(kernel: SessionKernel, store: SessionStore, title: SessionTitle) {
    this.#kernel = kernel
    this.#title = title
    this.store = store
  }

  get sessionId(): string {
    return this.#kernel.sessionId
  }

  get holder(): string {
    return `a session of the agent '${this.#kernel.agentId}'`
  }

  get durability(): Durability | undefined {
    return this.#kernel.options.durability
  }

  get restored(): RestoredSession | undefined {
    return this.#kernel.restored
  }

  get redact(): SessionRecorderOptions['redact'] {
    return this.#kernel.redactor.record
  }

  get isClean(): SessionRecorderOptions['isClean'] {
    return this.#kernel.redactor.isCleanRecord
  }

  get hide(): SessionRecorderOptions['hide'] {
    return this.#kernel.redactor.withoutKeys
  }

  /** A function that can be passed on without its object. */
  get now(): () => number {
    return this.#kernel.now
  }

  row(): ReturnType<SessionRecorderOptions['row']> {
    const { agentId, labels, options, parent } = this.#kernel
    return {
      agent: agentId,
      workspaceRoot: addressOf(this.#kernel),
      labels: { ...labels },
      ...omitUndefined({ title: this.#title.current }),
      options: optionsToKeep({ ...options, ...parent?.savedOptions }),
      ...childRow(parent),
    }
  }

  runId(): string | undefined {
    return this.#kernel.activeRunId
  }

  onDamage(message: string): void {
    this.#kernel.emit({ type: 'notice', source: 'store', message })
  }

  newId(): string {
    return this.#kernel.newId()
  }
}

/**
 * Creates the conversation of a session without a store. Its ids count the messages; the host's id generator is not
 * used.
 */
function unsavedConversation(kernel: SessionKernel): RecordedConversation {
  const { sessionId, restored } = kernel
  let count = restored?.order.length ?? 0
  return createRecordedConversation({
    sessionId,
    start: restored,
    hide: kernel.redactor.withoutKeys,
    runId: () => kernel.activeRunId,
    newId: () => `message-${++count}`,
    now: kernel.now,
  })
}

/** Records the changes that tools make to files, with what is needed to undo them. */
function watchChanges(kernel: SessionKernel, recorder: SessionRecorder | undefined): FileChanges {
  return new FileChanges(new ChangesOptions(kernel, recorder))
}

/** The options of a session's file changes. Copies nothing, because every waiting session has one. */
class ChangesOptions implements FileChangesOptions {
  readonly #kernel: SessionKernel
  readonly keep: SessionRecorder | undefined

  constructor(kernel: SessionKernel, recorder: SessionRecorder | undefined) {
    this.#kernel = kernel
    this.keep = recorder
  }

  get restored(): FileChangesOptions['restored'] {
    return this.#kernel.restored?.changes
  }

  /** A file can only be restored unchanged, so a file with a secret is not saved at all. */
  mayKeep(bytes: Uint8Array): boolean {
    const redact = this.#kernel.redactor.record
    if (redact === undefined) return true
    const text = new TextDecoder().decode(bytes)
    return redact(text) === text
  }

  now(): number {
    return this.#kernel.now()
  }
}
