import type { GovernedTool, ToolCallContext } from '../tool/contract.js'
import { builtInTool } from '../tool/create-json-tool.js'
import { type Envelope, errorEnvelope, outputEnvelope } from '../tool/envelope.js'
import { CapstanError } from '../tool/errors.js'
import { objectSchema } from '../tool/object-schema.js'
import type { ShellJob, ShellOutcome } from '../tool/runtime.js'
import { fittingHead } from './fitting-head.js'
import { limitText } from './limit-text.js'
import { createOutputDeltas } from './output-deltas.js'
import { requireService } from './require-service.js'

export type BashArgs = {
  command?: string | undefined
  timeout?: number | undefined
  background?: boolean | undefined
  job_id?: string | undefined
  action?: 'output' | 'kill' | undefined
  from?: number | undefined
}

const defaultTimeoutMs = 120_000
const maxTimeoutMs = 600_000
/** The limit for stdout and stderr together. */
const maxBytes = 200 * 1024
/** Space for the notes after the output, and for the quoting of a truncated output. */
const extraBytes = 16 * 1024

/** Runs one shell command, and manages commands that continue in the background. */
export const bashTool = createBash('bash', maxTimeoutMs)

/** Creates the same tool with another name and another maximum timeout. */
export function createBash(name: string, maxMs: number): GovernedTool<BashArgs> {
  return builtInTool<BashArgs>({
    name,
    description:
      'Run a command with bash in the workspace root, in a fresh shell each time (cd does not carry over). Returns stdout ' +
      'and stderr. For servers use background: true, not &: it returns a job id; read the job with {job_id}, end it with ' +
      '{job_id, action: "kill"}. To look at files prefer read, grep, glob.',
    kind: 'execute',
    limits: { maxBytes, extraBytes },
    requires: { shell: [{ cmd: '*' }] },
    parameters: objectSchema({
      'command?': { type: 'string', minLength: 1 },
      'timeout?': {
        type: 'integer',
        minimum: 1,
        maximum: maxMs,
        description: 'ms, default 120000',
      },
      'background?': { type: 'boolean' },
      'job_id?': { type: 'string', description: 'No command' },
      'action?': { enum: ['output', 'kill'] },
      'from?': { type: 'integer', minimum: 0, description: 'Job output position' },
    }),
    touches: (args) => {
      checkTogether(args)
      return args.command === undefined ? [] : [{ shell: { text: args.command } }]
    },
    async execute(args, context) {
      checkTogether(args)
      if (args.job_id !== undefined) return onJob(args.job_id, args, context)
      const command = args.command ?? ''
      return args.background === true
        ? startJob(command, context)
        : runCommand(command, args.timeout ?? defaultTimeoutMs, context)
    },
  })
}

/**
 * Checks combinations of arguments. A schema could only express them with alternatives at its top, which providers
 * refuse.
 */
function checkTogether(args: BashArgs): void {
  const problem = problemOf(args)
  if (problem !== undefined) throw new CapstanError('bash_argument_invalid', problem)
}

function problemOf({ command, timeout, background, job_id, action, from }: BashArgs): string | undefined {
  if (job_id === undefined) {
    if (command === undefined)
      return 'command parameter is required (or job_id, to read or end a background job)'
    if (action !== undefined || from !== undefined)
      return 'action and from are for a background job: give its job_id instead of a command'
    if (background === true && timeout !== undefined)
      return 'timeout does not apply to a background command: leave it out, and end the job with action "kill"'
    return undefined
  }
  if (command !== undefined || timeout !== undefined || background !== undefined)
    return 'job_id names a background job that exists: command, timeout and background do not go with it'
  if (action === 'kill' && from !== undefined) return 'from is for reading: it does not go with action "kill"'
  return undefined
}

async function runCommand(command: string, timeoutMs: number, context: ToolCallContext): Promise<Envelope> {
  const shell = requireService(context, 'shell')
  const deltas = createOutputDeltas((text) => context.progress?.(text))
  try {
    const outcome = await shell.run(command, {
      timeoutMs,
      maxBytes,
      signal: context.signal,
      onOutput: context.progress === undefined ? undefined : deltas.take,
    })
    return described(outcome, timeoutMs, command)
  } finally {
    deltas.end()
  }
}

function described(outcome: ShellOutcome, timeoutMs: number, command: string): Envelope {
  const { signal, output, outputBytes, truncated, blocked, leftover, sandbox, limit } = outcome
  const code = outcome.exitCode ?? signalCode(signal)
  const stopped = outcome.timedOut
    ? `Command timed out after ${timeoutMs}ms`
    : outcome.aborted
      ? 'Command stopped: the run was aborted'
      : limit !== undefined
        ? `Command ended: ${limitText(limit)}`
        : undefined
  const notes = [
    ...(stopped !== undefined ? [stopped] : code === 0 ? [] : [ended(code, signal)]),
    ...blocked.map((what) => `The sandbox refused: ${what}`),
    ...(leftover === undefined ? [] : [leftoverNote(leftover)]),
    ...(sandbox !== 'none' && leavesRunning.test(command) ? [endedNote] : []),
  ].map((note) => `[${note}]`)
  const gap = output === '' || notes.length === 0 ? '' : output.endsWith('\n') ? '\n' : '\n\n'
  const text = `${output}${gap}${notes.join('\n')}`
  const metadata = {
    sandbox,
    output_bytes: outputBytes,
    ...(signal === undefined ? {} : { signal }),
    ...(truncated ? { truncated } : {}),
    ...(outcome.outputPath === undefined ? {} : { output_path: outcome.outputPath }),
    ...(blocked.length === 0 ? {} : { blocked: [...blocked] }),
    ...(outcome.networkRefused === true && { network_refused: true }),
    ...(limit === undefined ? {} : { limit: limit.limit, limit_max: limit.max }),
    ...(leftover === undefined ? {} : { job_id: leftover }),
  }
  if (stopped !== undefined) return errorEnvelope(text, { ...metadata, timed_out: outcome.timedOut })
  // The command ran, so a failure of the command is a result and not an error of the call.
  const data = truncated
    ? { head: fittingHead(text, maxBytes + extraBytes - 1024), total: outputBytes }
    : text
  return outputEnvelope(data, { ...metadata, exit_code: code })
}

function ended(code: number, signal: string | undefined): string {
  return signal === undefined ? `Exit code: ${code}` : `Ended by ${signal}, exit code: ${code}`
}

/**
 * Matches an `&` at the end of a command, or a word that is used with one. It also matches in quotes, where the note
 * does no harm.
 */
const leavesRunning = /(?<![&>|\\])&(?![&>\d-])|\b(?:nohup|setsid|disown)\b/

const endedNote =
  'In the sandbox everything that a command starts ends with it. To keep something running use background: true'

function leftoverNote(id: string): string {
  return `What the command left running continues as background job ${id}: read it with {"job_id": "${id}"}, end it with {"job_id": "${id}", "action": "kill"}`
}

/** Returns the exit code of a signal as a shell does: 128 plus its number. */
function signalCode(signal: string | undefined): number {
  return 128 + (signalNumbers[signal ?? ''] ?? 0)
}

const signalNumbers: Readonly<Record<string, number>> = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGILL: 4,
  SIGTRAP: 5,
  SIGABRT: 6,
  SIGBUS: 7,
  SIGFPE: 8,
  SIGKILL: 9,
  SIGUSR1: 10,
  SIGSEGV: 11,
  SIGUSR2: 12,
  SIGPIPE: 13,
  SIGALRM: 14,
  SIGTERM: 15,
  SIGXCPU: 24,
  SIGXFSZ: 25,
}

async function startJob(command: string, context: ToolCallContext): Promise<Envelope> {
  const { id } = await requireService(context, 'shell').start(command)
  const text = `Started background job ${id}. Read its output with {"job_id": "${id}"}, end it with {"job_id": "${id}", "action": "kill"}. It ends with the session.`
  return outputEnvelope(text, { job_id: id, running: true })
}

async function onJob(id: string, { action, from }: BashArgs, context: ToolCallContext): Promise<Envelope> {
  const shell = requireService(context, 'shell')
  if (action === 'kill') {
    const job = await shell.killJob(id)
    return outputEnvelope(`[${stateOf(job)}]`, jobMetadata(job))
  }
  const { text, next, job } = await shell.readJob(id, from)
  const gap = text === '' || text.endsWith('\n') ? '' : '\n'
  return outputEnvelope(`${text}${gap}[${stateOf(job)}; continue with from: ${next}]`, {
    ...jobMetadata(job),
    next,
  })
}

function stateOf({ id, running, exitCode, limit }: ShellJob): string {
  if (running) return `${id} is running`
  if (limit !== undefined) return `${id} was ended: ${limitText(limit)}`
  return exitCode === null ? `${id} has ended` : `${id} has ended with exit code ${exitCode}`
}

function jobMetadata({ id, running, exitCode, limit }: ShellJob) {
  return {
    job_id: id,
    running,
    ...(exitCode === null ? {} : { job_exit_code: exitCode }),
    ...(limit === undefined ? {} : { limit: limit.limit, limit_max: limit.max }),
  }
}
