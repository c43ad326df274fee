import type { ToolApprovalPolicy } from './approval.js'
import {
  type AnyGovernedTool,
  type AnyTool,
  type GovernedTool,
  isGovernedTool,
  type OutputLimits,
  type Preparation,
  type ToolCallContext,
  type ToolKind,
  toolKinds,
} from './contract.js'
import { type EnvelopeMetadata, errorEnvelope, outputEnvelope, returnedEnvelope } from './envelope.js'
import { CapstanError, messageOf } from './errors.js'
import { frozenCopy } from './frozen-copy.js'
import type { JsonSchema } from './json.js'
import { isWithoutOutputMiddleware, withoutOutputMiddleware } from './middleware.js'
import { describeProblems } from './problem.js'
import { publishedBy } from './published-by.js'
import type { RequirementSet } from './requirement.js'
import { assertRequirements } from './requirement-check.js'
import type { Subject } from './subject.js'
import { isThenable } from './thenable.js'
import { type Checked, ToolInputError, type Validate, type Validation } from './validation.js'

/** The governed options of a tool, shared by all functions that create one. */
export type GovernedOptions<Args> = {
  /** The access that the tool needs. Default: none. Adding the tool to an agent extends the agent's grant by it. */
  requires?: RequirementSet | undefined
  kind?: ToolKind | undefined
  /** The name shown to users. Default: the tool's name in words. */
  title?: string | undefined
  limits?: OutputLimits | undefined
  idempotent?: boolean | undefined
  approval?: ToolApprovalPolicy<Args> | undefined
  /** See {@link Tool.ownTime}, {@link Tool.pins} and {@link Tool.mustAsk}. */
  ownTime?: boolean | undefined
  pins?(args: Args): readonly string[]
  mustAsk?(args: Args): string
  /** Returns the subjects that a call with these arguments touches; capabilities and rules judge each of them. */
  touches?(args: Args): readonly Subject[]
}

/** The parts of a tool: its definition, its check of arguments, and its work. */
type ToolParts<Args, Output> = GovernedOptions<Args> & {
  name: string
  description: string
  parameters: JsonSchema
  /** The schema that models read, when it is not the whole one. */
  shown?: JsonSchema | undefined
  validate: Validate<Args>
  /** Does the work with the checked arguments. Returns the output or an envelope of it, or throws. */
  execute(args: Args, context: ToolCallContext): unknown
  /** Checks the result against the output schema, and returns the parsed result. */
  finish?: ((output: unknown) => Output | Promise<Output>) | undefined
}

const toolName = /^[A-Za-z0-9_.:-]{1,128}$/

/** Creates one object from the parts that implements the typed API and the governed contract. */
export function assembleTool<Args, Output>(parts: ToolParts<Args, Output>): GovernedTool<Args, Output> {
  assertParts(parts)
  const { name, description, validate, execute } = parts
  const parameters = frozenCopy(parts.parameters)
  const definition = Object.freeze({ name, description, parameters: parts.shown ?? parameters })
  const touches = (args: Args): readonly Subject[] => parts.touches?.(args) ?? []

  return {
    name,
    id: name,
    description,
    parameters,
    requires: frozenCopy(parts.requires ?? {}),
    kind: parts.kind ?? 'other',
    idempotent: parts.idempotent ?? false,
    ...(parts.title === undefined ? {} : { title: parts.title }),
    ...(parts.limits === undefined ? {} : { limits: frozenCopy(parts.limits) }),
    ...(parts.approval === undefined ? {} : { approval: parts.approval }),
    ...(parts.ownTime === undefined ? {} : { ownTime: parts.ownTime }),
    ...(parts.pins === undefined ? {} : { pins: (args) => parts.pins?.(args) ?? [] }),
    ...(parts.mustAsk === undefined ? {} : { mustAsk: parts.mustAsk }),
    definition: () => definition,
    touches,
    parseApprovalArgs: (args) => parseNow(name, validate(args), args),
    async call(args, context = {}) {
      const pending = validate(args)
      const checked = 'then' in pending ? await pending : pending
      if (!checked.ok) throw new ToolInputError(name, checked.problems, args, checked.cause)
      context.signal?.throwIfAborted()
      const result = await readResult(parts, await execute(inputOf(checked), context))
      if (!result.ok) throw new CapstanError('tool_failed', result.error)
      return result.data
    },
    prepare: (args) => prepare(parts, touches, args),
    async execute(args, context) {
      const pending = prepare(parts, touches, args)
      const prepared = 'then' in pending ? await pending : pending
      return prepared.ok ? prepared.run(context) : prepared.envelope
    },
  }
}

/**
 * Returns a tool with the full contract: the tool itself if it has it, otherwise a wrapper. The arguments of a
 * hand-written tool are checked against the schema in its `definition`. If the validator does not support that schema,
 * arguments reach the tool unchecked, and `unchecked` says why. If the tool parses arguments for approval, policies see
 * the parsed arguments; its `call` gets the original ones and parses them itself.
 */
export async function governTool(tool: AnyTool): Promise<AnyGovernedTool> {
  if (isGovernedTool(tool)) return tool
  const { description, parameters, check, unchecked } = await publishedBy(tool)
  const { requires, kind, title, limits, idempotent, approval, ownTime } = tool
  const governed = assembleTool<unknown, unknown>({
    name: tool.name,
    description,
    parameters,
    validate: (input) => {
      const checked = check(input)
      if (!checked.ok || tool.parseApprovalArgs === undefined) return checked
      return { ok: true, value: tool.parseApprovalArgs(checked.value), source: checked.value }
    },
    execute: (args, context) => tool.call(args, context),
    touches: (args) => tool.touches?.(args) ?? [],
    requires,
    kind,
    title,
    limits,
    idempotent,
    ownTime,
    approval: approval as ToolApprovalPolicy<unknown> | undefined,
    ...(tool.pins === undefined ? {} : { pins: (args) => tool.pins?.(args) ?? [] }),
    ...(tool.mustAsk === undefined ? {} : { mustAsk: (args) => tool.mustAsk?.(args) ?? '' }),
  })
  const whole = unchecked === undefined ? governed : { ...governed, unchecked }
  return isWithoutOutputMiddleware(tool) ? withoutOutputMiddleware(whole) : whole
}

function prepare<Args, Output>(
  parts: ToolParts<Args, Output>,
  touches: (args: Args) => readonly Subject[],
  args: unknown,
): Preparation<Args, Output> | Promise<Preparation<Args, Output>> {
  const { execute } = parts
  const proceed = (validation: Validation<Args>): Preparation<Args, Output> => {
    if (!validation.ok)
      return { ok: false, envelope: errorEnvelope(describeProblems(parts.name, validation.problems, args)) }
    return {
      ok: true,
      args: validation.value,
      subjects: touches(validation.value),
      run: async (context = {}) => {
        if (context.signal?.aborted)
          return errorEnvelope(`Tool "${parts.name}" was not run: the run was aborted.`)
        let start: number | undefined
        try {
          start = clock(context)
          const reading = readResult(parts, await execute(inputOf(validation), context))
          const result = reading instanceof Promise ? await reading : reading
          const metadata = { ...result.metadata, ...timing(context, start) }
          if (!result.ok) return errorEnvelope(result.error, metadata)
          // Without data it would no longer be an envelope after JSON.
          return outputEnvelope(result.data === undefined ? (null as Output) : result.data, metadata)
        } catch (thrown) {
          return errorEnvelope(messageOf(thrown), { ...timing(context, start), ...codeOf(thrown) })
        }
      },
    }
  }
  const refuse = (thrown: unknown): Preparation<Args, Output> => ({
    ok: false,
    envelope: errorEnvelope(
      `The arguments of tool "${parts.name}" could not be checked: ${messageOf(thrown)}`,
    ),
  })
  try {
    const validation = parts.validate(args)
    return 'then' in validation ? validation.then(proceed).catch(refuse) : proceed(validation)
  } catch (thrown) {
    return refuse(thrown)
  }
}

/** Returns the input of the tool: the original arguments if the tool parses them itself. */
function inputOf<Args>(checked: Checked<Args>): Args {
  // Only `governTool` sets `source`, and its tools accept any value.
  return 'source' in checked ? (checked.source as Args) : checked.value
}

function clock({ now }: ToolCallContext): number {
  return now === undefined ? performance.now() : now()
}

function timing(context: ToolCallContext, start: number | undefined): { duration_ms?: number } {
  return start === undefined ? {} : { duration_ms: Math.max(0, Math.round(clock(context) - start)) }
}

function codeOf(thrown: unknown): { error_code?: string } {
  return thrown instanceof CapstanError ? { error_code: thrown.code } : {}
}

/** The result of the work, without the envelope if the tool returned one. */
type Result<Output> =
  | { readonly ok: true; readonly data: Output; readonly metadata?: EnvelopeMetadata | undefined }
  | { readonly ok: false; readonly error: string; readonly metadata: EnvelopeMetadata }

function readResult<Args, Output>(
  parts: ToolParts<Args, Output>,
  returned: unknown,
): Result<Output> | Promise<Result<Output>> {
  const envelope = returnedEnvelope(returned)
  const { metadata } = envelope ?? {}
  if (envelope?.type === 'error')
    return { ok: false, error: envelope.error_text, metadata: envelope.metadata }
  const output = envelope === undefined ? returned : envelope.data
  if (parts.finish !== undefined) return finished(parts.finish(output), metadata)
  if (isThenable(output)) return finished(output as PromiseLike<Output>, metadata)
  return { ok: true, data: output as Output, metadata }
}

async function finished<Output>(
  output: Output | PromiseLike<Output>,
  metadata: EnvelopeMetadata | undefined,
): Promise<Result<Output>> {
  return { ok: true, data: await output, metadata }
}

function parseNow<Args>(
  name: string,
  validation: Validation<Args> | Promise<Validation<Args>>,
  args: unknown,
): Args {
  if ('then' in validation) {
    validation.catch(() => undefined)
    throw new TypeError(
      `The input schema of tool "${name}" did not answer at once: use prepare() and await it.`,
    )
  }
  if (!validation.ok) throw new ToolInputError(name, validation.problems, args, validation.cause)
  return validation.value
}

function assertParts({
  name,
  description,
  parameters,
  kind,
  requires,
}: Pick<ToolParts<unknown, unknown>, 'name' | 'description' | 'parameters' | 'kind' | 'requires'>): void {
  if (typeof name !== 'string' || !toolName.test(name)) {
    throw new TypeError(
      `A tool's name is 1 to 128 letters, digits, "_", "-", "." or ":", not ${JSON.stringify(name)}`,
    )
  }
  if (typeof description !== 'string')
    throw new TypeError(`Tool "${name}" needs a description: it is what a model decides by`)
  const type = parameters['type']
  if (type !== undefined && type !== 'object')
    throw new TypeError(
      `The arguments of tool "${name}" must be an object, its schema says ${JSON.stringify(type)}; providers accept nothing else. Put the value into a field, such as z.object({ value: ... }).`,
    )
  if (requires !== undefined) assertRequirements(requires, `the tool "${name}"`)
  if (kind !== undefined && !toolKinds.includes(kind))
    throw new TypeError(
      `Tool "${name}" has the unknown kind ${JSON.stringify(kind)}; it is one of ${toolKinds.join(', ')}`,
    )
}
