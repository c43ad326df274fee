import { MemoryError } from '../../memory/errors.js'
import type { Memory, MemoryStore } from '../../memory/index.js'
import { hasPassword } from '../../memory/password-in.js'
import { idsInSection, isRecalledSection } from '../../memory/recalled-section.js'
import { unlessAborted } from '../../model/unless-aborted.js'
import type { Message, UserMessage } from '../../tool/completion.js'
import { messageOf } from '../../tool/errors.js'
import type { ActiveRun } from '../active-run.js'
import type { AgentResult } from '../agent-result.js'
import type { SessionCore } from '../core.js'
import type { SessionPart } from '../part.js'
import type { RunRequest } from '../request.js'
import { DefaultSecurityProvider } from '../security/index.js'
import { mayRecall } from './supervision.js'

/** The memory of a session. Throws when it was given none. */
export async function memoryOf(core: SessionCore): Promise<Memory> {
  core.assertOpen()
  if (core.parts.options.memoryStore !== undefined) return core.part(memoryPart)
  throw new MemoryError(
    'memory_not_configured',
    'Memory not configured for this session: give it a memoryStore, such as new FileMemoryStore(directory), or set memory_dir.',
  )
}

/** The prompt with what is remembered about it, as a part of its own behind what was said. */
export async function withMemories(
  core: SessionCore,
  message: UserMessage | undefined,
  { history, from }: RunRequest,
  signal: AbortSignal,
): Promise<UserMessage | undefined> {
  const { memoryStore, memory: options } = core.parts.options
  // A run that goes on has been shown them when it began.
  if (memoryStore === undefined || options?.recall === false) return message
  if (message === undefined || from !== undefined) return message
  if (!(await mayRecall(core, textOf(message), signal))) return message
  const shown = shownIn(history ?? core.conversation.view)
  const offered = core.part(memoryPart).then((memory) => memory.offer(textOf(message), shown))
  const section = await unlessAborted(offered, signal)
  if (section === undefined) return message
  return { ...message, content: [...message.content, { type: 'text', text: section.text }] }
}

/** Keeps what a run came to, where the host wants that. Commands are no work to remember. */
export async function rememberRun(
  core: SessionCore,
  active: ActiveRun,
  end: { readonly result: AgentResult } | { readonly error: unknown },
): Promise<void> {
  const { memoryStore, memory: options } = core.parts.options
  if (memoryStore === undefined || options?.rememberRuns !== true || core.isClosed) return
  if ('result' in end && end.result.finish === 'command') return
  const memory = await core.part(memoryPart)
  await memory.rememberRun({
    runId: active.id,
    prompt: active.record.snapshot().prompt,
    tools: toolsOf(core, active),
    ...('result' in end ? { text: end.result.text } : { error: messageOf(end.error) }),
  })
}

/** Made with the first use: a session without memories loads nothing of them. */
const memoryPart: SessionPart<Promise<Memory>> = {
  name: 'memory',
  make: (core) => makeMemory(core, core.parts.options.memoryStore),
}

async function makeMemory(core: SessionCore, store: MemoryStore | undefined): Promise<Memory> {
  const { Memory } = await import('../../memory/memory.js')
  if (store === undefined) throw new TypeError('A session without a store has no memory.')
  return new Memory({
    store,
    options: core.parts.options.memory ?? {},
    now: core.now,
    newId: core.newId,
    secretIn: (text) => secretIn(text, core.screen.record),
    redact: (text) => secrets.redactOutput(core.screen.forModel(text), 'model'),
    emit: core.emit,
    notice: (message) => core.emit({ type: 'notice', source: 'memory', message }),
  })
}

/** A memory outlives its session: what looks like a key is kept out of it, whatever the session's own provider says. */
const secrets = new DefaultSecurityProvider()

function secretIn(text: string, record: (text: string) => string = (same) => same): string | undefined {
  const clean = secrets.redactOutput(record(text), 'record')
  if (clean === text) return hasPassword(text) ? 'PASSWORD' : undefined
  const kinds = [...clean.matchAll(/\[REDACTED:(\w+)\]/g)].map(([mark, kind]) => ({ mark, kind }))
  return kinds.find(({ mark }) => !text.includes(mark))?.kind ?? 'SECRET'
}

/** The ids of what the model sees already; what a summary or a rewind took away may be shown again. */
function shownIn(messages: readonly Message[]): ReadonlySet<string> {
  const shown = new Set<string>()
  for (const message of messages) {
    if (message.role !== 'user') continue
    for (const part of message.content)
      if (part.type === 'text' && isRecalledSection(part.text))
        for (const id of idsInSection(part.text)) shown.add(id)
  }
  return shown
}

function textOf({ content }: UserMessage): string {
  return content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
}

function toolsOf(core: SessionCore, active: ActiveRun): string[] {
  const names = core.runs
    .events(active.id)
    .flatMap(({ event }) => (event.type === 'tool_end' ? [event.toolName] : []))
  return [...new Set(names)]
}
