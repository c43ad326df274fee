import { setMaxListeners } from 'node:events'
import type { JsonValue } from '../../tool/json.js'
import { type Engine, loadEngine } from './engine.js'
import { ProgramError, type ProgramFailureCode } from './errors.js'
import type { ProgramHost } from './host.js'
import { maxInputBytes, maxSourceBytes, type ProgramLimits, programLimits } from './limits.js'
import type { ProgramToolCall } from './program-calls.js'
import type { ProgramJournal } from './program-journal.js'
import { runInThread } from './run-in-thread.js'
import { startThread } from './thread.js'
import { createThreadPool } from './thread-pool.js'

export type Program = {
  /** A module with `export default async function run(ctx, inputs)`, or with a plain `run`. */
  readonly source: string
  /** Default: `javascript`. The types of TypeScript are taken out, and its lines stay where they are. */
  readonly language?: 'javascript' | 'typescript'
  /** What stack traces call it. Default: `program.js`. */
  readonly fileName?: string
  /** JSON for the script's second parameter. Default: `{}`. */
  readonly inputs?: unknown
  readonly limits?: Partial<ProgramLimits>
  /** Which tools it may call. Default: all that the host has. */
  allows?(tool: string): boolean
  readonly host: ProgramHost
  readonly signal?: AbortSignal
  /** Where the script's clock starts, in milliseconds; its random numbers follow from it. Between answers the clock stands still. */
  readonly startedAt: number
  /** The host's clock, in milliseconds, which the script's is set by. Default: what has passed since it began. */
  now?(): number
  /** Keeps what it does, so that another process can go on with it. Default: nothing is kept. */
  readonly journal?: ProgramJournal
}

export type ConsoleLine = { readonly level: string; readonly text: string }

/** How a program ended, and what it did until then. */
export type ProgramOutcome = {
  readonly calls: readonly ProgramToolCall[]
  readonly console: readonly ConsoleLine[]
  /** The limits that held in the end, defaults included. */
  readonly limits: ProgramLimits
} & (
  | { readonly ok: true; readonly result: JsonValue }
  | { readonly ok: false; readonly code: ProgramFailureCode; readonly message: string }
)

/** Runs programs, each in a sandbox of its own and off the main thread. */
export interface ProgramMachine {
  /**
   * Runs one to its end. Whatever a script does ends in an outcome; rejects with a {@link ProgramError} only for what cannot be run
   * at all: an illegal limit, a source that is too long, a machine that is closed or busy.
   */
  run(program: Program): Promise<ProgramOutcome>
  /** Ends every program and thread. */
  close(): Promise<void>
}

export type ProgramMachineOptions = {
  /** How many threads are kept once there was a first program: those that no program uses stand ready. Default: 2. */
  readonly warm?: number
  /** How many programs run at once; more wait. Default: 32. */
  readonly maxThreads?: number
  /** How long one that waits does so before it is refused. Default: 120000. */
  readonly maxWaitMs?: number
  /** How much a script may hold in memory. Default: 64 MiB. */
  readonly memoryBytes?: number
}

const defaultMemoryBytes = 64 * 1024 * 1024

/** Makes a machine. Nothing is loaded and no thread is started before the first program. */
export function createProgramMachine(options: ProgramMachineOptions = {}): ProgramMachine {
  const { warm = 2, maxThreads = 32, maxWaitMs = 120_000, memoryBytes = defaultMemoryBytes } = options
  let engine: Promise<Engine> | undefined
  const pool = createThreadPool({
    warm,
    maxThreads,
    maxWaitMs,
    async start() {
      engine ??= loadEngine(memoryBytes)
      return startThread(await engine, memoryBytes)
    },
  })
  const closing = new AbortController()
  // Every program that runs listens to it.
  setMaxListeners(0, closing.signal)
  return {
    async run(program) {
      const { source, inputs = {}, signal } = program
      const limits = programLimits(program.limits)
      checkSource(source)
      const both = signal === undefined ? closing.signal : AbortSignal.any([signal, closing.signal])
      const written = inputText(inputs)
      if (closing.signal.aborted)
        throw new ProgramError('program_closed', 'The program was not run: the session is closed.')
      if (both.aborted)
        throw new ProgramError('program_aborted', 'The program was not run: the run was aborted.')
      const stripper = program.language === 'typescript' ? { stripper: await findStripper() } : {}
      const thread = await pool.take(both)
      const parts = { program, limits, inputs: written, memoryBytes, ...stripper }
      return runInThread({ ...parts, thread, pool, signal: both })
    },
    async close() {
      closing.abort()
      await pool.close()
    },
  }
}

/** Loaded with the first TypeScript. */
async function findStripper(): Promise<string> {
  return urlOf(await import('./type-stripper.js'))
}

/** The module is handed over whole: a bundler leaves out what nobody seems to use, and here a thread uses the rest of it. */
function urlOf({ stripperUrl }: typeof import('./type-stripper.js')): string {
  return stripperUrl()
}

function checkSource(source: string): void {
  const bytes = Buffer.byteLength(source)
  if (bytes > maxSourceBytes)
    throw new ProgramError(
      'program_source_too_long',
      `The source of the program has ${bytes} bytes; at most ${maxSourceBytes} are allowed. Pass data in inputs, or read it from files.`,
    )
}

function inputText(inputs: unknown): string {
  let text: string | undefined
  try {
    text = JSON.stringify(inputs)
  } catch (cause) {
    throw new ProgramError('program_inputs_invalid', 'The inputs of a program must be JSON.', { cause })
  }
  if (text === undefined)
    throw new ProgramError('program_inputs_invalid', 'The inputs of a program must be JSON.')
  if (Buffer.byteLength(text) > maxInputBytes)
    throw new ProgramError(
      'program_inputs_invalid',
      `The inputs of the program have more than ${maxInputBytes} bytes: have it read them from a file.`,
    )
  return text
}
