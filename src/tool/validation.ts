import { CapstanError, markErrorClass } from './errors.js'
import { type ArgumentProblem, describeProblems } from './problem.js'

/** What a check of untrusted data gives: the value to use from here on, or what is wrong with it. */
export type Validation<Value> =
  | Checked<Value>
  | { readonly ok: false; readonly problems: readonly ArgumentProblem[]; readonly cause?: unknown }

/** `source` is what `value` was parsed from, where the work has to start from that. */
export type Checked<Value> = { readonly ok: true; readonly value: Value; readonly source?: unknown }

export type Validate<Value> = (input: unknown) => Validation<Value> | Promise<Validation<Value>>

/** A tool's arguments do not fit its input schema. The message is the one a model gets. */
export class ToolInputError extends CapstanError {
  readonly issues: readonly ArgumentProblem[]

  /** `cause` is what the schema library itself reported. */
  constructor(toolName: string, problems: readonly ArgumentProblem[], args: unknown, cause?: unknown) {
    super(
      'tool_input_invalid',
      describeProblems(toolName, problems, args),
      cause === undefined ? undefined : { cause },
    )
    this.issues = problems
    rejected.set(this, { toolName, args })
  }
}

/** What was rejected by whom. Not a property: arguments may be secret, and errors are logged. */
const rejected = new WeakMap<Error, { readonly toolName: string; readonly args: unknown }>()

/** Whether the error says that this tool did not take these very arguments, so that it has done nothing yet. */
export function isRejection(error: unknown, toolName: string, args: unknown): boolean {
  const found = error instanceof Error ? rejected.get(error) : undefined
  return found !== undefined && found.toolName === toolName && found.args === args
}

/** What a tool returned does not fit its output schema: a defect of the tool, not of its caller. */
export class ToolOutputError extends CapstanError {
  readonly issues: readonly ArgumentProblem[]

  constructor(toolName: string, problems: readonly ArgumentProblem[]) {
    const first = problems[0]
    const where = first === undefined || first.path.length === 0 ? '' : ` at ${first.path.join('.')}`
    super(
      'tool_output_invalid',
      `Tool "${toolName}" returned a result that does not fit its output schema${where}: ${first?.message ?? 'invalid'}`,
    )
    this.issues = problems
  }
}

markErrorClass(ToolInputError, 'ToolInputError')
markErrorClass(ToolOutputError, 'ToolOutputError')
