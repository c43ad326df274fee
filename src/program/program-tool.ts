import type { GovernedTool, ToolCallContext } from '../tool/contract.js'
import { createJsonTool } from '../tool/create-json-tool.js'
import type { ToolDefinition } from '../tool/definition.js'
import { type Envelope, errorEnvelope } from '../tool/envelope.js'
import { CapstanError } from '../tool/errors.js'
import type { JsonValue } from '../tool/json.js'
import type { RuntimeTools } from '../tool/runtime.js'
import { describeProgram } from './describe-program.js'
import type { PathsRequest, ProgramHost, TextRequest } from './machine/host.js'
import { maxSourceBytes, type ProgramLimits } from './machine/limits.js'
import type { ProgramMachine } from './machine/machine.js'
import { reportProgram } from './program-report.js'
import { type StripTypes, stripTypesWithNode } from './strip-types.js'

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
  /** The tools that a program can call, for the description; the same array as long as nothing has changed. */
  tools?(): readonly ToolDefinition[]
  /** See {@link ProgramHost}: each must walk the gate as the tool that it stands for. */
  readText?(request: TextRequest, context: ToolCallContext, signal: AbortSignal): Promise<Envelope>
  globPaths?(request: PathsRequest, context: ToolCallContext, signal: AbortSignal): Promise<Envelope>
  verify?(commands: readonly JsonValue[], context: ToolCallContext, signal: AbortSignal): Promise<Envelope>
  /** Default: what Node brings, from 22.13 on. */
  readonly stripTypes?: StripTypes
}

const name = 'program'

/**
 * Makes the tool that runs a program: a script that calls other tools and gives back only its result. Each call that the script makes
 * walks the gate with the authority of whoever called the tool; a program cannot call a program.
 */
export function createProgramTool(options: ProgramToolOptions): GovernedTool<ProgramArgs> {
  const tool = createJsonTool<ProgramArgs>({
    name,
    description: describeProgram([]),
    kind: 'execute',
    requires: { fs: { read: ['{workspace}/**'] } },
    parameters: {
      type: 'object',
      properties: {
        type: { enum: ['script'] },
        language: { enum: ['javascript', 'typescript'] },
        source: { type: 'string' },
        path: { type: 'string', description: 'A .js, .mjs or .ts file of the workspace, instead of source' },
        inputs: { description: 'JSON for run; default {}' },
        allowed_tools: { type: 'array', items: { type: 'string' }, description: 'Default: all but program' },
        // The machine says which limit is wrong and what it may be; here that would cost every request.
        limits: { type: 'object', description: 'timeoutMs, maxToolCalls, maxOutputBytes' },
      },
      additionalProperties: false,
    },
    touches: ({ path }) => (path === undefined ? [] : [{ fs: 'read', path }]),
    execute: (args, context) => execute(options, args, context),
  })
  return described(tool, options)
}

/** The description follows the tools that there are; asked for again, it is the same text as long as they are the same. */
function described(
  tool: GovernedTool<ProgramArgs>,
  { tools }: ProgramToolOptions,
): GovernedTool<ProgramArgs> {
  if (tools === undefined) return tool
  let known: readonly ToolDefinition[] | undefined
  let definition = tool.definition()
  const current = (): ToolDefinition => {
    const now = tools()
    if (now !== known) {
      known = now
      definition = Object.freeze({ ...definition, description: describeProgram(now) })
    }
    return definition
  }
  return {
    ...tool,
    definition: current,
    get description() {
      return current().description
    },
  }
}

async function execute(
  options: ProgramToolOptions,
  args: ProgramArgs,
  context: ToolCallContext,
): Promise<Envelope> {
  const script = await scriptOf(args, context)
  if (typeof script === 'string') return errorEnvelope(script)
  const { language, fileName } = script
  const source =
    language === 'typescript'
      ? await (options.stripTypes ?? stripTypesWithNode)(script.source)
      : script.source
  const outcome = await options.machine.run({
    source,
    fileName,
    inputs: args.inputs ?? {},
    limits: args.limits ?? {},
    allows: allowing(args.allowed_tools),
    host: hostOf(options, context),
    startedAt: context.now?.() ?? 0,
    ...(context.signal !== undefined && { signal: context.signal }),
  })
  return reportProgram(outcome, language)
}

type Script = {
  readonly source: string
  readonly fileName: string
  readonly language: 'javascript' | 'typescript'
}

async function scriptOf(
  { source, path, language }: ProgramArgs,
  { runtime }: ToolCallContext,
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
  return {
    source: await runtime.files.readText(file, { maxBytes: maxSourceBytes }),
    fileName: file,
    language: language ?? (ending === 'ts' ? 'typescript' : 'javascript'),
  }
}

function allowing(names: readonly string[] | undefined): (tool: string) => boolean {
  if (names === undefined) return (tool) => tool !== name
  const allowed = new Set(names)
  // Verification runs commands: whoever may do that may have them checked.
  return (tool) => tool !== name && (allowed.has(tool) || (tool === 'verify' && allowed.has('bash')))
}

function hostOf(options: ProgramToolOptions, context: ToolCallContext): ProgramHost {
  const { readText, globPaths, verify } = options
  const tools = toolsOf(context)
  return {
    async call(invocation, signal) {
      const [envelope] = await tools.callAll([invocation], { signal })
      return envelope ?? errorEnvelope('the call gave no result')
    },
    ...(readText !== undefined && { readText: (request, signal) => readText(request, context, signal) }),
    ...(globPaths !== undefined && { globPaths: (request, signal) => globPaths(request, context, signal) }),
    ...(verify !== undefined && { verify: (commands, signal) => verify(commands, context, signal) }),
  }
}

function toolsOf({ runtime }: ToolCallContext): RuntimeTools {
  const tools = runtime?.session?.tools
  if (tools === undefined)
    throw new CapstanError(
      'runtime_part_missing',
      'This host lends no tools to programs, so none can run. Ask the host to provide runtime.session.tools.',
    )
  return tools
}
