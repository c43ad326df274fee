import { MemoryError } from './errors.js'
import { itemLimits, type MemoryItem } from './memory-item.js'

/** An item before it has a name and a time. `title` is its topic in a few words. */
export type Note = Pick<MemoryItem, 'content' | 'importance' | 'tags' | 'memoryType'> & {
  readonly title: string
}

/** A note about an approach that worked. The tools are also tags, so that it can be found by them. */
export function successNote(task: string, tools: readonly string[], result: string): Note {
  checkTexts('rememberSuccess', { task, result }, tools)
  return {
    title: task,
    content: `Success: ${task}\nTools: ${tools.join(', ')}\nResult: ${result}`,
    importance: 0.8,
    tags: [...new Set(['success', 'pattern', ...tools])],
    memoryType: 'procedural',
  }
}

/** A note about something that failed and should be avoided. */
export function failureNote(task: string, error: string, tools: readonly string[]): Note {
  checkTexts('rememberFailure', { task, error }, tools)
  return {
    title: task,
    content: `Failure: ${task}\nError: ${error}\nAttempted tools: ${tools.join(', ')}`,
    importance: 0.9,
    tags: [...new Set(['failure', 'avoid', ...tools])],
    memoryType: 'episodic',
  }
}

/** A note that a model chose to save: less important than what a host remembers, and marked as the model's. */
export function modelNote(text: string, tags: readonly string[]): Note {
  const own = tags
    .map((tag) => tag.trim().toLowerCase())
    .filter((tag) => tag !== '' && !reservedTags.has(tag))
  return {
    title: text,
    content: text,
    importance: 0.4,
    tags: [...new Set(['model', ...own])],
    memoryType: 'semantic',
  }
}

/** Tags that identify who saved a memory, and its outcome. */
const reservedTags: ReadonlySet<string> = new Set(['success', 'pattern', 'failure', 'avoid', 'run', 'model'])

/** A run that has ended: with an answer, or with an error. */
export type RunToRemember = {
  readonly runId: string
  readonly prompt: string
  readonly tools: readonly string[]
  readonly text?: string
  readonly error?: string
}

/** A note about the outcome of a run, shortened; slightly less important than what a host saves. */
export function runNote({ prompt, tools, text, error }: RunToRemember): Note {
  const task = shortened(prompt, maxTaskLength)
  const used = [...new Set(tools)].slice(0, maxTools)
  const note =
    error === undefined
      ? successNote(task, used, shortened(text ?? '', maxOutcomeLength))
      : failureNote(task, shortened(error, maxOutcomeLength), used)
  return { ...note, importance: note.importance - 0.3, tags: [...note.tags, 'run'] }
}

const maxTaskLength = 1000
const maxOutcomeLength = 2000
const maxTools = itemLimits.tags - 3

function shortened(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most)} […]`
}

function checkTexts(method: string, texts: Readonly<Record<string, unknown>>, tools: unknown): void {
  for (const [name, text] of Object.entries(texts))
    if (typeof text !== 'string') throw wrongArgument(method, `${name} is not text`)
  if (typeof texts['task'] === 'string' && texts['task'].trim() === '')
    throw wrongArgument(method, 'the task is empty')
  if (!Array.isArray(tools) || !tools.every((tool) => typeof tool === 'string'))
    throw wrongArgument(method, 'the tools are not a list of names')
}

function wrongArgument(method: string, why: string): MemoryError {
  const order = method === 'rememberSuccess' ? 'prompt, tools, result' : 'prompt, error, tools'
  return new MemoryError('memory_invalid', `Remember failed: ${why}. Call ${method}(${order}).`)
}
