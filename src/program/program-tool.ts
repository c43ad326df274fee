import type { GovernedTool, ToolCallContext } from '../tool/contract.js'
import { builtInTool } from '../tool/create-json-tool.js'
import { type Envelope, errorEnvelope, outputEnvelope } from '../tool/envelope.js'
import { CapstanError } from '../tool/errors.js'
import type { JsonValue } from '../tool/json.js'
import type { Invocation, RuntimeTools, ToolRuntime } from '../tool/runtime.js'
import { describeProgram } from './describe-program.js'
import type { CallOptions, ProgramHost } from './machine/host.js'
import { delegates, delegatingTimeoutMs, maxSourceBytes, type ProgramLimits } from './machine/limits.js'
import type { ProgramMachine } from './machine/machine.js'
import type { ProgramJournal, ProgramStep } from './machine/program-journal.js'
import { reportProgram } from './program-report.js'

export type ProgramArgs = {
  type?: 'script'
  language?: 'javascript' | 'typescript'
  source?: string
  path?: string
  inputs?: JsonValue
  allowed_tools?: string[]
  limits?: Partial<ProgramLimits>
}

export type ProgramToolOptions = {
  readonly machine: ProgramMachine
}

const name = 'program'

/**
 * Makes the tool that runs a program: a script that calls other tools and gives back only its result. Each call that the script makes
 * walks the gate with the authority of whoever called the tool; a program cannot call a program.
 */
export function createProgramTool({ machine }: ProgramToolOptions): GovernedTool<ProgramArgs> {
  const tool = builtInTool<ProgramArgs>({
    name,
    description: describeProgram(),
    kind: 'execute',
    // It has a clock that stands still while a person thinks; the calls it makes have the host's limit.
    ownTime: true,
    requires: { fs: { read: ['{workspace}/**'] } },
    parameters: {
      type: 'object',
      properties: {
        type: { const: 'script' },
        language: { enum: ['javascript', 'typescript'] },
        source: { type: 'string' },
        path: { type: 'string', description: 'A .js, .mjs or .ts file instead' },
        inputs: {},
        allowed_tools: { type: 'array', items: { type: 'string' } },
        // The machine says which limit is wrong and what it may be; here that would cost every request.
        limits: { type: 'object', description: 'timeoutMs, maxToolCalls, maxOutputBytes' },
      },
      additionalProperties: false,
    },
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
    ...(context.now !== undefined && { now: context.now }),
    ...(journal !== undefined && { journal }),
    ...(context.signal !== undefined && { signal: context.signal }),
  })
  return reportProgram(outcome, script.language)
}

/** A program that lists a tool which hands work on has the time for it from its start; another one gets it when it does so. */
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
    return 'Give either the source of the program or the path of a file that holds it.'
  if (source !== undefined) {
    const known = language ?? 'javascript'
    return { source, language: known, fileName: known === 'typescript' ? 'program.ts' : 'program.js' }
  }
  const file = path ?? ''
  const ending = /\.(js|mjs|ts)$/.exec(file)?.[1]
  if (ending === undefined)
    return `A program is a .js, .mjs or .ts file, which ${JSON.stringify(file)} is not.`
  if (runtime?.files === undefined)
    return 'This host lends no files to tools: give the source of the program.'
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
  // Verification runs commands: whoever may do that may have them checked.
  return (tool) => tool !== name && (allowed.has(tool) || (tool === 'verify' && allowed.has('bash')))
}

function hostOf({ runtime }: ToolCallContext): ProgramHost {
  const tools = toolsOf(runtime)
  const verify = runtime?.session?.verify
  const call = async (invocation: Invocation, { id, ...options }: CallOptions): Promise<Envelope> => {
    const [envelope] = await tools.callAll([{ ...invocation, id }], options)
    return envelope ?? errorEnvelope('the call gave no result')
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
      // What a script wrote is checked there.
      verify: async ({ subject, commands }, { signal, watch }) =>
        outputEnvelope(await verify(subject, commands as never, { signal, watch })),
    }),
  }
}

/** What the session keeps of the call, in the words of the machine. */
function journalOf({ runtime }: ToolCallContext): ProgramJournal | undefined {
  const steps = runtime?.session?.steps?.()
  if (steps === undefined) return undefined
  return {
    // They were steps when they were written.
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
      'This host lends no tools to programs, so none can run. Ask the host to provide runtime.session.tools.',
    )
  return tools
}
