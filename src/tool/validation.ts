import { CapstanError, markErrorClass } from './errors.js'
import { type ArgumentProblem, describeProblems } from './problem.js'

/** The result of checking untrusted data: the value to use, or the problems. */
export type Validation<Value> =
  | Checked<Value>
  | { readonly ok: false; readonly problems: readonly ArgumentProblem[]; readonly cause?: unknown }

/** A checked value. `source` is the input that `value` was parsed from, for tools that parse it themselves. */
export type Checked<Value> = { readonly ok: true; readonly value: Value; readonly source?: unknown }

export type Validate<Value> = (input: unknown) => Validation<Value> | Promise<Validation<Value>>

/** A tool's arguments do not fit its input schema. The message is the text that a model gets. */
export class ToolInputError extends CapstanError {
  readonly issues: readonly ArgumentProblem[]

  /** `cause` is the error of the schema library. */
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

/** The rejected arguments and the tool. Not a property of the error: arguments may be secret, and errors are logged. */
const rejected = new WeakMap<Error, { readonly toolName: string; readonly args: unknown }>()

/** Returns whether the error says that this tool rejected exactly these arguments, so that it has had no effect yet. */
export function isRejection(error: unknown, toolName: string, args: unknown): boolean {
  const found = error instanceof Error ? rejected.get(error) : undefined
  return found !== undefined && found.toolName === toolName && found.args === args
}

/** A tool's result does not fit its output schema: a defect of the tool, not of its caller. */
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
