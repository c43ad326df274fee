import { forgetHistory } from '../model/append-only.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import { backendAddress } from '../workspace/backend/backend.js'
import { FileChanges, hostCalls } from './history/file-changes.js'
import { InterruptedCalls } from './interrupted-calls.js'
import { createRecordedConversation, type RecordedConversation } from './journal/recorded-conversation.js'
import { optionsToKeep } from './journal/restore.js'
import { SessionRecorder } from './journal/session-recorder.js'
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
    if (title !== undefined) this.recorder?.title(title)
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
    if (title !== undefined && !this.conversation.isEmpty) this.recorder?.title(title)
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
  const { options, sessionId, agentId, restored, labels, parent, redactor } = kernel
  const { sessionStore: store } = options
  if (store === undefined) return undefined
  return new SessionRecorder({
    store,
    sessionId,
    holder: `a session of the agent '${agentId}'`,
    durability: options.durability,
    restored,
    redact: redactor.record,
    isClean: redactor.isCleanRecord,
    hide: redactor.withoutKeys,
    row: () => ({
      agent: agentId,
      workspaceRoot: addressOf(kernel),
      labels: { ...labels },
      ...omitUndefined({ title: title.current }),
      options: optionsToKeep({ ...options, ...parent?.savedOptions }),
      ...childRow(parent),
    }),
    runId: () => kernel.activeRunId,
    onDamage: (message) => kernel.emit({ type: 'notice', source: 'store', message }),
    now: kernel.now,
    newId: () => kernel.newId(),
  })
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
  const redact = kernel.redactor.record
  return new FileChanges({
    restored: kernel.restored?.changes,
    keep: recorder && {
      note: (note) => recorder.change(note),
      writeImage: (bytes) => recorder.writeImage(bytes),
      readImage: (digest) => recorder.readImage(digest),
    },
    // A file can only be restored unchanged, so a file with a secret is not saved at all.
    mayKeep:
      redact &&
      ((bytes) => {
        const text = new TextDecoder().decode(bytes)
        return redact(text) === text
      }),
    now: kernel.now,
  })
}
