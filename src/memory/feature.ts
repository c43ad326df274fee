import type { FeatureContext } from '../feature/feature-context.js'
import { able, between, count, either, fields, is } from '../feature/option-check.js'
import type { SessionFeature } from '../feature/session-feature.js'
import { textOf } from '../loop/run-state.js'
import type { Message } from '../tool/completion.js'
import { messageOf } from '../tool/errors.js'
import { unlessAborted } from '../tool/unless-aborted.js'
import { MemoryError } from './errors.js'
import type { Memory, MemoryOptions, MemoryStore } from './index.js'
import type { RuntimeMemory } from './memory-services.js'
import { memoryTools } from './memory-tools.js'
import { hasPassword } from './password-in.js'
import { idsInSection, isRecalledSection } from './recalled-section.js'

export type MemoryFeatureOptions = {
  /** The store for memories that outlive the session. Sessions that share a store share their memories. */
  readonly memoryStore?: MemoryStore
  readonly memory?: MemoryOptions
}

type MemorySession = FeatureContext<MemoryFeatureOptions>

/**
 * Shows memories that match the prompt, and saves how runs ended. A session without a memory store loads none of this
 * code.
 */
export const memoryFeature: SessionFeature<Promise<Memory>, MemoryFeatureOptions> = {
  name: 'memory',
  create: createMemory,
  options: {
    memoryStore: able('add', 'list', 'delete'),
    memory: fields({
      recall: (value) =>
        value === false ? undefined : fields({ maxItems: count(1), maxBytes: count(512) })(value),
      rememberRuns: is('boolean'),
      tools: either(is('boolean'), fields({ maxNotes: count(1) })),
      embedder: able('embedTexts'),
      maxShortTerm: count(0),
      maxWorking: count(0),
      relevance: fields({
        decayDays: between(0, 36_500),
        importanceWeight: between(0, 1000),
        recencyWeight: between(0, 1000),
      }),
      prunePolicy: fields({
        maxAgeDays: between(0, 36_500),
        minImportanceToKeep: between(0, 1),
        maxItems: count(1),
      }),
      pruneIntervalSecs: count(0),
    }),
  },
  optionWarnings: ({ memory, memoryStore }) =>
    memory?.tools && memoryStore === undefined
      ? ['memory.tools has no effect: the session has no memoryStore.']
      : [],
  /** Adds the memory tools whichever built-in tools the host chose, because the host turned them on explicitly. */
  opened(session) {
    const { memory, memoryStore } = session.options
    if (memory?.tools && memoryStore !== undefined) session.tools.addAll(memoryTools)
  },
  contextPart: (text) => (isRecalledSection(text) ? 'memory' : undefined),
  services: { memory: memoryService },
  delaysPrompt: ({ options }) => options.memoryStore !== undefined,

  /** Adds memories about the prompt as a separate part. A resumed run got them when it started. */
  async extendPrompt(session, message, { history, from }, signal) {
    const { memoryStore, memory: options } = session.options
    if (memoryStore === undefined || options?.recall === false || from !== undefined) return message
    const query = textOf(message)
    const guard = session.service('recallGuard')
    if (guard !== undefined && !(await guard.mayRecall(query, signal))) return message
    const shown = shownIn(history ?? session.log.conversation.view)
    const offered = session.use(memoryFeature).then((memory) => memory.offer(query, shown))
    const section = await unlessAborted(offered, signal)
    if (section === undefined) return message
    return { ...message, content: [...message.content, { type: 'text', text: section.text }] }
  },

  /** Saves a memory of the run, if the host turned that on. Commands and cancelled runs are not saved. */
  async afterRun(session, run, end) {
    const { memoryStore, memory: options } = session.options
    if (memoryStore === undefined || options?.rememberRuns !== true || session.isClosed) return
    if ('result' in end ? end.result.finish === 'command' : end.cancelled) return
    const memory = await session.use(memoryFeature)
    await memory.rememberRun({
      runId: run.id,
      prompt: run.prompt,
      tools: run.toolNames(),
      ...('result' in end ? { text: end.result.text } : { error: messageOf(end.error) }),
    })
  },
}

/** The service for the memory tools. A subagent uses its parent's memory, and its notes name its own session. */
function memoryService(session: FeatureContext): RuntimeMemory | undefined {
  let owner: FeatureContext = session
  while (owner.parent !== undefined) owner = owner.parent.session
  const { memoryStore, memory } = owner.options as MemoryFeatureOptions
  if (memoryStore === undefined || !memory?.tools) return undefined
  const by = { sessionId: session.sessionId, runId: session.activeRunId ?? 'host' }
  const opened = (): Promise<Memory> => owner.use(memoryFeature)
  return {
    remember: async (text, tags) => (await (await opened()).rememberForModel(text, tags, by)).id,
    recall: async (query, limit) => (await opened()).section(query, limit),
    forget: async (id) => (await opened()).forget(id, 'model'),
  }
}

/** Returns the memory of a session. Throws `MemoryError` when the session has no memory store. */
export async function memoryOf(session: MemorySession): Promise<Memory> {
  session.assertOpen()
  if (session.options.memoryStore !== undefined) return session.use(memoryFeature)
  throw new MemoryError(
    'memory_not_configured',
    'Memory not configured for this session: give it a memoryStore, such as new FileMemoryStore(directory), or set memory_dir.',
  )
}

async function createMemory(session: MemorySession): Promise<Memory> {
  const { memoryStore: store, memory: options = {} } = session.options
  if (store === undefined) throw new TypeError('A session without a memoryStore has no memory.')
  const [{ Memory }, { tenantStore }] = await Promise.all([
    import('./memory.js'),
    import('./tenant-store.js'),
  ])
  return new Memory({
    store: tenantStore(store, session.labels.tenantId),
    options,
    now: () => session.now(),
    newId: () => session.newId(),
    secretIn: (text) => secretIn(session, text),
    redact: (text) => session.redactor.tokens(session.redactor.forModel(text), 'model'),
    emit: (event) => session.emit(event),
    notice: (message) => session.emit({ type: 'notice', source: 'memory', message }),
  })
}

/** Returns the kind of secret in a text. Memories outlive their session, so keys never get into them. */
function secretIn({ redactor }: MemorySession, text: string): string | undefined {
  const clean = redactor.tokens(redactor.record?.(text) ?? text, 'record')
  if (clean === text) return hasPassword(text) ? 'PASSWORD' : undefined
  const kinds = [...clean.matchAll(/\[REDACTED:(\w+)\]/g)].map(([mark, kind]) => ({ mark, kind }))
  return kinds.find(({ mark }) => !text.includes(mark))?.kind ?? 'SECRET'
}

/** The ids of memories that the model already sees; those that a summary or a rewind removed can be shown again. */
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
