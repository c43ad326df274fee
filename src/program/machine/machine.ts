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

/** A script with its inputs, limits and host. */
export type Program = {
  /** A module with `export default async function run(ctx, inputs)`, or with a plain `run`. */
  readonly source: string
  /** Default: `javascript`. The types of TypeScript are removed, and line numbers do not change. */
  readonly language?: 'javascript' | 'typescript'
  /** The name in stack traces. Default: `program.js`. */
  readonly fileName?: string
  /** JSON for the script's second parameter. Default: `{}`. */
  readonly inputs?: unknown
  readonly limits?: Partial<ProgramLimits>
  /** Returns whether the program can call a tool. Default: all tools of the host. */
  allows?(tool: string): boolean
  readonly host: ProgramHost
  readonly signal?: AbortSignal | undefined
  /** The start of the script's clock, in milliseconds, and the seed of random numbers. It pauses between answers. */
  readonly startedAt: number
  /** The host's clock, in milliseconds, which sets the script's. Default: the time since the start. */
  readonly now?: (() => number) | undefined
  /** Records what it does, so that another process can resume it. Default: nothing is recorded. */
  readonly journal?: ProgramJournal | undefined
}

/** One line that a script wrote to its console. */
export type ConsoleLine = { readonly level: string; readonly text: string }

/** How a program ended, and what it did. */
export type ProgramOutcome = {
  readonly calls: readonly ProgramToolCall[]
  readonly console: readonly ConsoleLine[]
  /** The final limits, including defaults. */
  readonly limits: ProgramLimits
} & (
  | { readonly ok: true; readonly result: JsonValue }
  | { readonly ok: false; readonly code: ProgramFailureCode; readonly message: string }
)

/** Runs programs, each in its own sandbox and off the main thread. */
export interface ProgramMachine {
  /**
   * Runs one program to its end. Every failure of a script is an outcome; rejects with a {@link ProgramError} only
   * for a program that cannot run at all: an invalid limit, a source that is too long, a machine that is closed or
   * busy.
   */
  run(program: Program): Promise<ProgramOutcome>
  /** Ends every program and thread. */
  close(): Promise<void>
}

/** The settings of {@link createProgramMachine}. */
export type ProgramMachineOptions = {
  /** The number of threads that stay ready after the first program. Default: 2. */
  readonly warm?: number
  /** The maximum number of concurrent programs; more wait. Default: 32. */
  readonly maxThreads?: number
  /** How long a program waits for a thread before it is rejected. Default: 120000. */
  readonly maxWaitMs?: number
  /** The memory limit of a script. Default: 64 MiB. */
  readonly memoryBytes?: number
}

const defaultMemoryBytes = 64 * 1024 * 1024

/** Creates a machine. It loads nothing and starts no thread before the first program. */
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
  // Avoids the listener warning: every running program listens to it.
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

/** Loaded with the first TypeScript program. */
async function findStripper(): Promise<string> {
  return urlOf(await import('./type-stripper.js'))
}

/** Gets the whole module: a bundler removes exports that seem unused, and here a thread uses the others. */
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
      `The inputs of the program have more than ${maxInputBytes} bytes: let it read them from a file.`,
    )
  return text
}
