import type { SessionStore } from '../store/session-store.js'
import { laneOfKind } from '../tool/lane.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import { backendAddress } from '../workspace/backend/backend.js'
import { Confirmations, type SavedQuestions } from './confirmations.js'
import { FileChanges } from './history/file-changes.js'
import { waitingQuestions } from './journal/questions.js'
import {
  createRecordedConversation,
  type RecordedConversation,
  type RecordedConversationOptions,
} from './journal/recorded-conversation.js'
import { optionsToKeep } from './journal/restore.js'
import { SessionRecorder } from './journal/session-recorder.js'
import type { SessionKernel } from './kernel.js'
import { childRow } from './setup.js'

/** The workspace as the log has it: a directory of this machine, or the address of a backend. */
export function addressOf({ root, backend }: SessionKernel): string {
  return backend === undefined ? root : backendAddress(backend)
}

/** What writes the log of a session. */
export function createRecorder(kernel: SessionKernel, store: SessionStore): SessionRecorder {
  const { options, sessionId, agentId, restored, labels } = kernel
  const { parent } = kernel.setup
  return new SessionRecorder({
    store,
    sessionId,
    holder: `a session of the agent '${agentId}'`,
    durability: options.durability,
    restored,
    redact: kernel.redactor.record,
    isClean: kernel.redactor.isCleanRecord,
    hide: hiding(kernel),
    row: () => ({
      agent: agentId,
      workspaceRoot: addressOf(kernel),
      labels: { ...labels },
      ...omitUndefined({ title: kernel.title.current }),
      options: optionsToKeep({ ...options, ...parent?.savedOptions }),
      ...childRow(parent),
    }),
    runId: () => kernel.activeRunId,
    onDamage: (message) => kernel.emit({ type: 'notice', source: 'store', message }),
    now: () => kernel.now(),
    newId: () => kernel.newId(),
  })
}

/** The conversation of a session without a store. Its ids count the messages; those of the host are not used. */
export function unsavedConversation(kernel: SessionKernel): RecordedConversation {
  const { sessionId, restored } = kernel
  let count = restored?.order.length ?? 0
  return createRecordedConversation({
    sessionId,
    start: restored,
    hide: hiding(kernel),
    runId: () => kernel.activeRunId,
    newId: () => `message-${++count}`,
    now: () => kernel.now(),
  })
}

/** Takes the keys of the configuration out of messages; absent when there are none. */
function hiding(kernel: SessionKernel): RecordedConversationOptions['hide'] {
  return kernel.redactor.keys === undefined ? undefined : (value) => kernel.withoutKeys(value)
}

/** What tools do to files, with what is needed to undo it. */
export function watchChanges(kernel: SessionKernel): FileChanges {
  const { recorder, restored } = kernel
  const redact = kernel.redactor.record
  return new FileChanges({
    restored: restored?.changes,
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
    now: () => kernel.now(),
  })
}

/** The calls of a session that wait for an approval. */
export function openConfirmations(kernel: SessionKernel): Confirmations {
  const { options, root } = kernel
  return new Confirmations({
    policy: options.confirmationPolicy ?? {},
    onAsk: options.onAsk,
    laneOf: (toolName) => laneOfKind(kernel.tools.get(toolName)?.kind ?? 'other'),
    root,
    kept: savedQuestions(kernel),
    emit: kernel.emit,
    now: () => kernel.now(),
  })
}

/** Questions to the user that outlive the process. */
function savedQuestions({ restored, recorder }: SessionKernel): SavedQuestions | undefined {
  return (
    recorder && {
      waiting: restored === undefined ? [] : waitingQuestions(restored, recorder.conversation),
      asked: (request, expiresAtMs) => recorder.asked(request, expiresAtMs),
      refused: (callId, message) => recorder.refused(callId, message),
      isSame: (saved, request) => recorder.isSame(saved, request),
    }
  )
}
