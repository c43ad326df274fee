import { createHash } from 'node:crypto'
import { CapstanError, markErrorClass, messageOf } from '../tool/errors.js'
import { isRecord } from '../tool/json.js'
import { problemIn } from './record-problem.js'
import type { PartRow, SessionRecord, SessionRow } from './records.js'
import { refuseFutureSchema } from './schema.js'
import type { SessionLog, SessionStore } from './session-store.js'

export type ImportSessionOptions = {
  /** The id it gets; absent: the one it had. */
  readonly id?: string
  /** The real path of the workspace that it is to go on in; absent: the one it had when the lines are trusted, and none otherwise. */
  readonly workspace?: string
  /**
   * The lines are as good as our own log. Otherwise nothing in them gains authority: rules, options, mode, whose session it is and on
   * which workspace are left out, and so is what an undo would write to files, and what is said to have been verified or done.
   */
  readonly trusted?: boolean
  /** The longest line, in characters. */
  readonly maxLineLength?: number
  readonly maxRecords?: number
  now(): number
}

export type ImportedSession = {
  readonly id: string
  readonly records: number
  readonly blobs: number
  /** What was left out, and how often. */
  readonly leftOut: Readonly<Record<string, number>>
  /** What the lines say about themselves: contents that were missing already, damage. */
  readonly notes: readonly string[]
}

export type ImportErrorCode = 'import_bad_line' | 'import_too_large' | 'import_empty' | 'import_exists'

/** The lines are no session, or one that cannot be taken; nothing of them is in the store. */
export class ImportError extends CapstanError {
  declare readonly code: ImportErrorCode
  /** From 1. */
  readonly line: number | undefined

  constructor(code: ImportErrorCode, message: string, line?: number, cause?: unknown) {
    super(code, line === undefined ? message : `Line ${line}: ${message}`, { cause })
    this.line = line
  }
}

markErrorClass(ImportError, 'ImportError')

/** Takes what `exportSession` gives, in pieces of any size: all of it or nothing. */
export async function importSession(
  store: SessionStore,
  source: AsyncIterable<string> | Iterable<string>,
  options: ImportSessionOptions,
): Promise<ImportedSession> {
  const taker = new Taker(store, options)
  try {
    for await (const { text, number } of linesOf(source, options.maxLineLength ?? defaultMaxLineLength))
      await taker.take(text, number)
    return await taker.finish()
  } catch (error) {
    await taker.giveUp()
    throw error
  }
}

const defaultMaxLineLength = 128 * 1024 * 1024
const defaultMaxRecords = 5_000_000
const batchSize = 200

type Line = { readonly text: string; readonly number: number }

async function* linesOf(
  source: AsyncIterable<string> | Iterable<string>,
  longest: number,
): AsyncGenerator<Line, void, undefined> {
  let number = 1
  let pieces: string[] = []
  let length = 0
  const add = (piece: string): void => {
    length += piece.length
    if (length > longest)
      throw new ImportError('import_too_large', `it is longer than ${longest} characters.`, number)
    pieces.push(piece)
  }
  for await (const piece of source) {
    let start = 0
    for (let end = piece.indexOf('\n'); end >= 0; end = piece.indexOf('\n', start)) {
      add(piece.slice(start, end))
      yield { text: pieces.join(''), number }
      number++
      pieces = []
      length = 0
      start = end + 1
    }
    add(piece.slice(start))
  }
  if (length > 0) yield { text: pieces.join(''), number }
}

class Taker {
  readonly #store: SessionStore
  readonly #options: ImportSessionOptions
  readonly #leftOut: Record<string, number> = {}
  readonly #notes: string[] = []
  readonly #systemMessages = new Set<string>()
  #id: string | undefined
  #log: SessionLog | undefined
  #batch: SessionRecord[] = []
  #records = 0
  #blobs = 0

  constructor(store: SessionStore, options: ImportSessionOptions) {
    this.#store = store
    this.#options = options
  }

  async take(text: string, number: number): Promise<void> {
    if (text.trim() === '') return
    const { type, data } = this.#parsed(text, number)
    if (type === 'note') {
      this.#notes.push(JSON.stringify(data))
      return
    }
    if (type === 'blob') return this.#takeBlob(data, number)
    const problem = problemIn(type, data)
    if (problem !== undefined) throw new ImportError('import_bad_line', problem, number)
    // The problems of records are all there are, so this is one.
    const record = { type, data } as SessionRecord
    const log = this.#log ?? (await this.#open(record, number))
    const own = this.#owned(record)
    if (own === undefined) return
    this.#records++
    const most = this.#options.maxRecords ?? defaultMaxRecords
    if (this.#records > most)
      throw new ImportError('import_too_large', `there are more than ${most} records.`, number)
    this.#batch.push(own)
    if (this.#batch.length >= batchSize) await this.#write(log)
  }

  async finish(): Promise<ImportedSession> {
    if (this.#log === undefined || this.#id === undefined)
      throw new ImportError('import_empty', 'There is no session in these lines: not one record was found.')
    await this.#write(this.#log)
    await this.#log.close()
    return {
      id: this.#id,
      records: this.#records,
      blobs: this.#blobs,
      leftOut: this.#leftOut,
      notes: this.#notes,
    }
  }

  /** What was written is of no use alone. */
  async giveUp(): Promise<void> {
    if (this.#log === undefined || this.#id === undefined) return
    await this.#log.close().catch(() => undefined)
    await this.#store.delete(this.#id)
  }

  #parsed(text: string, number: number): { readonly type: string; readonly data: unknown } {
    let value: unknown
    try {
      value = JSON.parse(text)
    } catch (error) {
      throw new ImportError('import_bad_line', `it is no JSON. ${messageOf(error)}`, number, error)
    }
    if (!isRecord(value) || typeof value['type'] !== 'string' || !isRecord(value['data']))
      throw new ImportError(
        'import_bad_line',
        'it is not of the form {"type": "…", "data": {…}} that an export has.',
        number,
      )
    return { type: value['type'], data: value['data'] }
  }

  async #open(first: SessionRecord, number: number): Promise<SessionLog> {
    if (first.type !== 'session')
      throw new ImportError(
        'import_bad_line',
        `it is a ${first.type}, and the first record must be the session itself.`,
        number,
      )
    const id = this.#options.id ?? first.data.id
    if ((await this.#store.read(id)) !== undefined)
      throw new ImportError(
        'import_exists',
        `The store "${this.#store.backend}" has a session '${id}' already. Give another id.`,
      )
    this.#log = await this.#store.open(id, { holder: 'an import', now: () => this.#options.now() })
    this.#id = id
    return this.#log
  }

  /** The record under the id of the new session, without what would give it authority. Undefined: all of it would. */
  #owned(record: SessionRecord): SessionRecord | undefined {
    const id = this.#id ?? ''
    if (record.type === 'session') {
      refuseFutureSchema(id, record)
      const { workspace } = this.#options
      const own = { ...this.#withoutAuthority(record.data), id }
      return { type: 'session', data: workspace === undefined ? own : { ...own, workspaceRoot: workspace } }
    }
    if (record.type === 'run_event') return record
    if (record.type === 'message' && record.data.role === 'system') {
      // No session writes one into its log, and a model would take it for the host's own words.
      this.#systemMessages.add(record.data.id)
      return this.#leaveOut('system messages')
    }
    if (record.type === 'part' && this.#systemMessages.has(record.data.messageId)) return undefined
    if (record.type !== 'part') return { ...record, data: { ...record.data, sessionId: id } } as SessionRecord
    const content = this.#believed(record.data.content)
    return content && { type: 'part', data: { ...record.data, sessionId: id, content } }
  }

  /** What a piece says, unless it would decide something here that is not for the lines to decide. */
  #believed(content: PartRow['content']): PartRow['content'] | undefined {
    if (this.#options.trusted) return content
    const { type } = content.type === 'blob' ? content.stub : content
    const name = notBelieved[type]
    if (name !== undefined) return this.#leaveOut(name)
    if (content.type !== 'task' || content.workflow === undefined || content.workflow === null) return content
    // A workflow that is begun here does all of its steps.
    this.#leaveOut('workflow steps')
    return { ...content, workflow: null }
  }

  #withoutAuthority(row: SessionRow): SessionRow {
    if (this.#options.trusted) return row
    // Which files it may touch, and for whom it speaks, is not for the lines to say either.
    const { rules, options, mode, labels, workspaceRoot, instructions, ...rest } = row
    for (const [name, value] of Object.entries({ rules, options, mode, labels, workspaceRoot, instructions }))
      if (value !== undefined) this.#leaveOut(name)
    return rest
  }

  #leaveOut(what: string): undefined {
    this.#leftOut[what] = (this.#leftOut[what] ?? 0) + 1
  }

  async #takeBlob(data: unknown, number: number): Promise<void> {
    const { digest, base64 } = isRecord(data) ? data : {}
    if (typeof digest !== 'string' || typeof base64 !== 'string')
      throw new ImportError('import_bad_line', 'a blob needs its digest and its base64.', number)
    if (this.#log === undefined)
      throw new ImportError(
        'import_bad_line',
        'it is a blob, and the session itself must come first.',
        number,
      )
    const bytes = Buffer.from(base64, 'base64')
    if (createHash('sha256').update(bytes).digest('hex') !== digest)
      throw new ImportError('import_bad_line', `the content is not what its digest ${digest} says.`, number)
    await this.#log.writeBlob(bytes)
    this.#blobs++
  }

  async #write(log: SessionLog): Promise<void> {
    if (this.#batch.length === 0) return
    const batch = this.#batch
    this.#batch = []
    await log.append(batch)
  }
}

/** What pieces that decide something are called when they are left out. All are named: a new one must not come in unnoticed. */
const notBelieved: Readonly<Record<PartRow['content']['type'], string | undefined>> = {
  text: undefined,
  image: undefined,
  document: undefined,
  reasoning: undefined,
  tool_call: undefined,
  tool_result: undefined,
  tool_intent: undefined,
  tool_question_refused: undefined,
  task: undefined,
  // Known by what it is the beginning of.
  blob: undefined,
  file_change: 'file changes',
  // Nobody here has seen it hold.
  verification: 'verification reports',
  // It decides whose command a check is.
  offered_checks: 'offered checks',
  // What a person would be shown and asked to agree to is not for others to write.
  tool_question: 'open questions',
  // What a call says that it has done decides what it does next.
  tool_step: 'steps of calls',
}
