import { createHash } from 'node:crypto'
import { CapstanError, markErrorClass, messageOf } from '../tool/errors.js'
import { isRecord } from '../tool/json.js'
import { problemIn } from './record-problem.js'
import type { PartRow, RunEventRow, SessionRecord, SessionRow } from './records.js'
import { refuseFutureSchema } from './schema.js'
import type { SessionLog, SessionStore } from './session-store.js'

/** The settings of {@link importSession}. */
export type ImportSessionOptions = {
  /** The id of the new session; absent: the original id. */
  readonly id?: string
  /** The real path of the workspace to continue in; absent: the original one for trusted lines, and none otherwise. */
  readonly workspace?: string
  /**
   * The lines are as trustworthy as a log of this store. Otherwise nothing in them gains authority: rules, options,
   * mode, owner and workspace are omitted, and so are file contents for an undo and records of what was verified, done
   * or approved.
   */
  readonly trusted?: boolean
  /** The maximum length of a line, in characters. */
  readonly maxLineLength?: number
  readonly maxRecords?: number
  now(): number
}

/** The result of {@link importSession}. */
export type ImportedSession = {
  readonly id: string
  readonly records: number
  readonly blobs: number
  /** What was omitted, with counts. */
  readonly leftOut: Readonly<Record<string, number>>
  /** Notes in the lines, for example about missing contents or damage. */
  readonly notes: readonly string[]
}

/** The code of an {@link ImportError}. */
export type ImportErrorCode = 'import_bad_line' | 'import_too_large' | 'import_empty' | 'import_exists'

/** Thrown when the lines are not a session, or the session cannot be imported. Nothing is stored. */
export class ImportError extends CapstanError<ImportErrorCode> {
  /** The line number, from 1. */
  readonly line: number | undefined

  constructor(code: ImportErrorCode, message: string, line?: number, cause?: unknown) {
    super(code, line === undefined ? message : `Line ${line}: ${message}`, { cause })
    this.line = line
  }
}

markErrorClass(ImportError, 'ImportError')

/** Imports the output of `exportSession`, in chunks of any size: all of it or nothing. */
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
    // The record was completely checked above.
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

  /** Removes what was written: an incomplete session is of no use. */
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
      throw new ImportError('import_bad_line', `it is not JSON. ${messageOf(error)}`, number, error)
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
        `The store "${this.#store.backend}" already has a session '${id}'. Pass another id.`,
      )
    this.#log = await this.#store.open(id, { holder: 'an import', now: () => this.#options.now() })
    this.#id = id
    return this.#log
  }

  /** Returns the record with the id of the new session and without authority. Undefined when nothing of it remains. */
  #owned(record: SessionRecord): SessionRecord | undefined {
    const id = this.#id ?? ''
    if (record.type === 'session') {
      refuseFutureSchema(id, record)
      const { workspace } = this.#options
      const own = { ...this.#withoutAuthority(record.data), id }
      return { type: 'session', data: workspace === undefined ? own : { ...own, workspaceRoot: workspace } }
    }
    if (record.type === 'run_event') return { type: 'run_event', data: this.#withoutVerdict(record.data) }
    if (record.type === 'message' && record.data.role === 'system') {
      // No session writes system messages to its log, and a model would treat them as text of the host.
      this.#systemMessages.add(record.data.id)
      return this.#leaveOut('system messages')
    }
    if (record.type === 'part' && this.#systemMessages.has(record.data.messageId)) return undefined
    if (record.type !== 'part') return { ...record, data: { ...record.data, sessionId: id } } as SessionRecord
    const content = this.#believed(record.data.content)
    return content && { type: 'part', data: { ...record.data, sessionId: id, content } }
  }

  /** Returns a part, unless it would decide something that untrusted lines must not decide. */
  #believed(content: PartRow['content']): PartRow['content'] | undefined {
    if (this.#options.trusted) return content
    const { type } = content.type === 'blob' ? content.stub : content
    const name = notBelieved[type]
    if (name !== undefined) return this.#leaveOut(name)
    if (content.type !== 'task' || content.workflow === undefined || content.workflow === null) return content
    // A workflow that starts in the new session runs all of its steps.
    this.#leaveOut('workflow steps')
    return { ...content, workflow: null }
  }

  /** Removes which rule allowed a call, and who approved it: untrusted lines must not state that. */
  #withoutVerdict(row: RunEventRow): RunEventRow {
    if (this.#options.trusted || !isRecord(row.event)) return row
    const { decision, by, ...event } = row.event
    if (decision === undefined && by === undefined) return row
    this.#leaveOut('verdicts')
    return { ...row, event }
  }

  #withoutAuthority(row: SessionRow): SessionRow {
    if (this.#options.trusted) return row
    // Untrusted lines must not choose the workspace and the owner either.
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

/**
 * The names under which parts that decide something are reported as omitted. All types are listed, so that a new one
 * cannot be missed.
 */
const notBelieved: Readonly<Record<PartRow['content']['type'], string | undefined>> = {
  text: undefined,
  image: undefined,
  document: undefined,
  reasoning: undefined,
  tool_call: undefined,
  tool_result: undefined,
  tool_intent: undefined,
  tool_question_refused: undefined,
  tool_outcome: undefined,
  task: undefined,
  // Decided by the type of its stub.
  blob: undefined,
  file_change: 'file changes',
  // It was not verified by this store's sessions.
  verification: 'verification reports',
  // It decides who defined a check.
  offered_checks: 'offered checks',
  // Other people must not write a question for the user.
  tool_question: 'open questions',
  // The recorded steps of a call decide what it does next.
  tool_step: 'steps of calls',
  // Workers execute these calls, or the host makes them again.
  queue_task: 'tasks of workers',
  dead_letter: 'dead letters',
  lane_handler: 'handlers of lanes',
}
