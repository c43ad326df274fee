import type { GovernedTool, ToolCallContext } from '../tool/contract.js'
import { builtInTool } from '../tool/create-json-tool.js'
import { type Envelope, errorEnvelope, outputEnvelope } from '../tool/envelope.js'
import { CapstanError } from '../tool/errors.js'
import type { JsonValue } from '../tool/json.js'
import { objectSchema } from '../tool/object-schema.js'
import type { ToolRuntime } from '../tool/runtime.js'
import type { Invocation, RuntimeTools } from '../tool/session-services.js'
import { describeProgram } from './describe-program.js'
import type { CallOptions, ProgramHost } from './machine/host.js'
import { delegates, delegatingTimeoutMs, maxSourceBytes, type ProgramLimits } from './machine/limits.js'
import type { ProgramMachine } from './machine/machine.js'
import type { ProgramJournal, ProgramStep } from './machine/program-journal.js'
import { reportProgram } from './program-report.js'

/** The arguments of the tool `program`. */
export type ProgramArgs = {
  type?: 'script'
  language?: 'javascript' | 'typescript'
  source?: string
  path?: string
  inputs?: JsonValue
  allowed_tools?: string[]
  limits?: Partial<ProgramLimits>
}

/** The settings of {@link createProgramTool}. */
export type ProgramToolOptions = {
  readonly machine: ProgramMachine
}

const name = 'program'

/**
 * Creates the tool that runs a program: a script that calls other tools and returns only its result. Each of its
 * calls passes the gate with the authority of the tool's caller; a program cannot call a program.
 */
export function createProgramTool({ machine }: ProgramToolOptions): GovernedTool<ProgramArgs> {
  const tool = builtInTool<ProgramArgs>({
    name,
    description: describeProgram(),
    unlisted: ['type', 'allowed_tools'],
    kind: 'execute',
    // Its own clock is paused while a user decides; the host's limit applies to the calls it makes.
    ownTime: true,
    requires: { fs: { read: ['{workspace}/**'] } },
    parameters: objectSchema({
      'type?': { const: 'script' },
      'language?': { enum: ['javascript', 'typescript'] },
      'source?': { type: 'string' },
      'path?': { type: 'string', description: 'A .js, .mjs or .ts file instead' },
      'inputs?': {},
      'allowed_tools?': { type: 'array', items: { type: 'string' } },
      // The machine reports which limit is wrong and its range; describing that here would cost tokens in every
      // request.
      'limits?': { type: 'object', description: 'timeoutMs, maxToolCalls, maxOutputBytes' },
    }),
    touches: ({ path }) => (path === undefined ? [] : [{ fs: 'read', path }]),
    pins: ({ path }) => (path === undefined ? [] : [path]),
    execute: (args, context) => execute(machine, args, context),
  })
  const definition = tool.definition()
  return {
    ...tool,
    definitionAmong: (others) => Object.freeze({ ...definition, description: describeProgram(others) }),
  }
}

async function execute(
  machine: ProgramMachine,
  args: ProgramArgs,
  context: ToolCallContext,
): Promise<Envelope> {
  const script = await scriptOf(args, context)
  if (typeof script === 'string') return errorEnvelope(script)
  const journal = journalOf(context)
  const limits = { ...defaultTime(args.allowed_tools), ...args.limits }
  const outcome = await machine.run({
    ...script,
    inputs: args.inputs ?? {},
    limits,
    allows: allowing(args.allowed_tools),
    host: hostOf(context),
    startedAt: context.now?.() ?? 0,
    now: context.now,
    journal,
    signal: context.signal,
  })
  return reportProgram(outcome, script.language)
}

/** A program that lists a delegating tool has the longer time from its start; any other gets it when it delegates. */
function defaultTime(allowed: readonly string[] | undefined): Partial<ProgramLimits> {
  return allowed?.some(delegates) ? { timeoutMs: delegatingTimeoutMs } : {}
}

type Script = {
  readonly source: string
  readonly fileName: string
  readonly language: 'javascript' | 'typescript'
}

async function scriptOf(
  { source, path, language }: ProgramArgs,
  { runtime, pins }: ToolCallContext,
): Promise<Script | string> {
  if ((source === undefined) === (path === undefined))
    return 'Pass either the source of the program or the path of a file that contains it.'
  if (source !== undefined) {
    const known = language ?? 'javascript'
    return { source, language: known, fileName: known === 'typescript' ? 'program.ts' : 'program.js' }
  }
  const file = path ?? ''
  const ending = /\.(js|mjs|ts)$/.exec(file)?.[1]
  if (ending === undefined)
    return `A program must be a .js, .mjs or .ts file, which ${JSON.stringify(file)} is not.`
  if (runtime?.files === undefined)
    return 'This host provides no files to tools: pass the source of the program.'
  const { bytes, version } = await runtime.files.read(file, { maxBytes: maxSourceBytes })
  const approved = pins?.get(file)
  if (approved !== undefined && approved !== version)
    return `The script ${JSON.stringify(file)} was changed after the call was judged, so it was not run. Call the program again.`
  return {
    source: textOf(file, bytes),
    fileName: file,
    language: language === 'typescript' || ending === 'ts' ? 'typescript' : 'javascript',
  }
}

function textOf(file: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    throw new CapstanError('program_source_invalid', `The script ${JSON.stringify(file)} is not UTF-8.`, {
      cause,
    })
  }
}

function allowing(names: readonly string[] | undefined): (tool: string) => boolean {
  if (names === undefined) return (tool) => tool !== name
  const allowed = new Set(names)
  // Verification runs commands: a program that can run them can also verify with them.
  return (tool) => tool !== name && (allowed.has(tool) || (tool === 'verify' && allowed.has('bash')))
}

function hostOf({ runtime }: ToolCallContext): ProgramHost {
  const tools = toolsOf(runtime)
  const verify = runtime?.session?.verify
  const call = async (invocation: Invocation, { id, ...options }: CallOptions): Promise<Envelope> => {
    const [envelope] = await tools.callAll([{ ...invocation, id }], options)
    return envelope ?? errorEnvelope('the call returned no result')
  }
  return {
    call,
    ...(tools.hasDataForm?.('read') && {
      readText: (args, options) => call({ tool: 'read', args, form: 'data' }, options),
    }),
    ...(tools.hasDataForm?.('glob') && {
      globPaths: (args, options) => call({ tool: 'glob', args, form: 'data' }, options),
    }),
    ...(verify !== undefined && {
      // The session validates what a script passed.
      verify: async ({ subject, commands }, { signal, watch }) =>
        outputEnvelope(await verify(subject, commands as never, { signal, watch })),
    }),
  }
}

/** Returns the session's record of the call as a journal for the machine. */
function journalOf({ runtime }: ToolCallContext): ProgramJournal | undefined {
  const steps = runtime?.session?.steps?.()
  if (steps === undefined) return undefined
  return {
    // They were recorded as steps.
    before: steps.before.map(({ step }) => step as unknown as ProgramStep),
    begun: new Set(steps.begun.map(Number)),
    add: (more) =>
      steps.add(
        more.map((step) => ({
          step: step as unknown as JsonValue,
          ...(step.step === 'answer' && { ends: String(step.id) }),
        })),
      ),
  }
}

function toolsOf(runtime: ToolRuntime | undefined): RuntimeTools {
  const tools = runtime?.session?.tools
  if (tools === undefined)
    throw new CapstanError(
      'runtime_part_missing',
      'This host provides no tools to programs, so none can run. The host must provide runtime.session.tools.',
    )
  return tools
}
