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

/** What a session has on record: in its store, or in memory only when it has none. */
export class SessionLog {
  readonly #kernel: SessionKernel
  /** Writes the log; absent without a store. */
  readonly recorder: SessionRecorder | undefined
  readonly conversation: RecordedConversation
  /** What tools did to files, run by run. */
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

  /** The run that file changes of the work at this moment belong to. */
  changesOwner(): string {
    return this.#kernel.parent?.changesOf ?? this.#kernel.activeRunId ?? hostCalls
  }

  /** Names a session that has no messages yet after its first prompt. */
  titleAfter(prompt: string): void {
    if (this.title.current !== undefined || !this.conversation.isEmpty) return
    const title = this.title.takeFrom(this.#kernel.redactor.withoutKeys?.(prompt) ?? prompt)
    if (title !== undefined) this.recorder?.title(title)
  }

  /** Drops what can be made again from what is left. Called between runs. */
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

/** Reading more messages again with each run would take longer than what is saved is worth. */
const maxForgottenMessages = 64

/** The workspace as the log has it: a directory of this machine, or the address of a backend. */
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

/** The conversation of a session without a store. Its ids count the messages; those of the host are not used. */
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

/** What tools do to files, with what is needed to undo it. */
function watchChanges(kernel: SessionKernel, recorder: SessionRecorder | undefined): FileChanges {
  const redact = kernel.redactor.record
  return new FileChanges({
    restored: kernel.restored?.changes,
    keep: recorder && {
      note: (note) => recorder.change(note),
      writeImage: (bytes) => recorder.writeImage(bytes),
      readImage: (digest) => recorder.readImage(digest),
    },
    // A file can only be restored as it was, so one with a secret in it is not saved at all.
    mayKeep:
      redact &&
      ((bytes) => {
        const text = new TextDecoder().decode(bytes)
        return redact(text) === text
      }),
    now: kernel.now,
  })
}
