import { quoteNames } from './nearest.js'

/** One problem of a tool's arguments, described so that a model can correct it. */
export type ArgumentProblem = {
  readonly path: readonly (string | number)[]
  /** What was expected, such as `expected integer`; the received value is added from the arguments. */
  readonly message: string
  /** A fixed value was expected. In a union this usually means that another shape was intended. */
  readonly fixed?: true
}

const maxProblems = 8
const maxPreviewLength = 60
const maxMessageLength = 240

/**
 * Returns the text that a model sees when its arguments do not fit: the field, what was expected, what was received.
 * Short, no stack.
 */
export function describeProblems(
  toolName: string,
  problems: readonly ArgumentProblem[],
  args: unknown,
): string {
  const list = listProblems(problems, args, 'the arguments')
  return `Invalid arguments for tool "${toolName}":\n${list}\nCorrect them and call "${toolName}" again.`
}

/** Lists the first problems, one line each; `whole` is the name for the value itself. */
export function listProblems(problems: readonly ArgumentProblem[], value: unknown, whole: string): string {
  const shown = problems.slice(0, maxProblems).map((problem) => `- ${describeProblem(problem, value, whole)}`)
  const rest = problems.length - shown.length
  if (rest > 0) shown.push(`- and ${rest} more`)
  return shown.join('\n')
}

function describeProblem({ path, message }: ArgumentProblem, value: unknown, whole: string): string {
  const field = path.length === 0 ? whole : formatPath(path)
  const came = valueAt(value, path)
  return `${field}: ${cut(message, maxMessageLength)}; got ${came.found ? preview(came.value) : 'nothing'}`
}

/** `items[2].name` */
function formatPath(path: readonly (string | number)[]): string {
  let text = ''
  for (const key of path) {
    if (typeof key === 'number') text += `[${key}]`
    else if (/^[A-Za-z_$][\w$]*$/.test(key)) text += `${text === '' ? '' : '.'}${cut(key, maxPreviewLength)}`
    else text += `[${JSON.stringify(cut(key, maxPreviewLength))}]`
  }
  return cut(text, maxMessageLength)
}

/** Formats a value as JSON, shortened, with its type where the JSON does not show it. */
function preview(value: unknown): string {
  if (typeof value === 'string') return `${JSON.stringify(cut(value, maxPreviewLength))} (string)`
  if (Array.isArray(value)) return `an array of ${value.length}`
  if (typeof value === 'object' && value !== null) {
    const keys = Object.keys(value)
    if (keys.length === 0) return 'an object without fields'
    return `an object with ${quoteNames(keys.slice(0, 5).map((key) => cut(key, 30))).replace(' or ', ', ')}${keys.length > 5 ? ' …' : ''}`
  }
  return value === null ? 'null' : `${cut(String(value), maxPreviewLength)} (${typeof value})`
}

function valueAt(root: unknown, path: readonly (string | number)[]): { found: boolean; value?: unknown } {
  let value = root
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return { found: false }
    value = (value as Record<string | number, unknown>)[key]
  }
  return { found: value !== undefined, value }
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`
}

/**
 * Chooses the problems to report when one of several shapes was expected and none fits: those of the shape that was
 * probably intended. A shape whose fixed value (a kind, a type) differs is excluded. Of the others it chooses the one
 * that matched furthest, with the fewest problems. If all failed at the same place, their expectations are joined; if
 * several are equally likely, each is reported.
 */
export function closestShape(
  shapes: readonly (readonly ArgumentProblem[])[],
  unionDepth: number,
): readonly ArgumentProblem[] | undefined {
  const failed = shapes.filter((shape) => shape.length > 0)
  const first = failed[0]?.[0]
  if (first === undefined) return undefined
  const single = failed.every((shape) => shape.length === 1)
  if (single && failed.every((shape) => samePath(shape[0], first))) {
    return [
      {
        path: first.path,
        message: [...new Set(failed.map((shape) => shape[0]?.message ?? ''))].join('; or '),
      },
    ]
  }
  const ranked = failed.toSorted((a, b) => compareShapes(a, b, unionDepth))
  const [best, next] = ranked
  if (single && best !== undefined && next !== undefined && compareShapes(best, next, unionDepth) === 0) {
    const alike = ranked.filter((shape) => compareShapes(shape, best, unionDepth) === 0)
    return alike.flatMap((shape) =>
      shape.map((problem) => ({
        ...problem,
        message: `${problem.message} (one of ${alike.length} alternatives)`,
      })),
    )
  }
  return best
}

function compareShapes(
  a: readonly ArgumentProblem[],
  b: readonly ArgumentProblem[],
  unionDepth: number,
): number {
  const other = (shape: readonly ArgumentProblem[]): number =>
    shape.some(({ path, fixed }) => fixed && path.length <= unionDepth + 1) ? 1 : 0
  const depth = (shape: readonly ArgumentProblem[]): number =>
    Math.max(...shape.map(({ path }) => path.length))
  return other(a) - other(b) || depth(b) - depth(a) || a.length - b.length
}

function samePath(problem: ArgumentProblem | undefined, { path }: ArgumentProblem): boolean {
  return problem?.path.length === path.length && path.every((key, at) => problem.path[at] === key)
}
