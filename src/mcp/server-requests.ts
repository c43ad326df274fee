import { pathToFileURL } from 'node:url'
import { isRecord } from '../tool/json.js'
import type { Question, QuestionAnswers } from '../tool/session-services.js'
import { visibleLine, visibleText } from '../toolbox/untrusted-text.js'
import type { McpSamplingHandler } from './host-types.js'

/** The requests of a server that this client can answer; requests without a handler are refused (SEC-179). */
export type ServerRequestHandlers = {
  readonly name: string
  /** The directories that a server is shown: only the workspace (SEC-180). */
  readonly roots: readonly string[]
  /** Asks the user. The signal is aborted when the server no longer waits for the answer. */
  readonly question?: (
    questions: readonly Question[],
    signal: AbortSignal | undefined,
  ) => QuestionAnswers | Promise<QuestionAnswers>
  readonly sampling?: McpSamplingHandler | undefined
}

/** The handler that the protocol's library registers for a request of the server. */
type RequestTaker = {
  setRequestHandler(
    method: string,
    handler: (
      request: { params?: unknown },
      context?: { readonly mcpReq: { readonly signal: AbortSignal } },
    ) => Promise<object> | object,
  ): void
}

export function answerRequests(client: RequestTaker, handlers: ServerRequestHandlers): void {
  const { question, sampling, name } = handlers
  client.setRequestHandler('roots/list', () => ({
    roots: handlers.roots.map((path) => ({ uri: pathToFileURL(path).href, name: 'workspace' })),
  }))
  if (question !== undefined)
    client.setRequestHandler('elicitation/create', ({ params }, context) =>
      elicit(name, params, (questions) => question(questions, context?.mcpReq.signal)),
    )
  if (sampling !== undefined)
    client.setRequestHandler('sampling/createMessage', ({ params }) => sample(name, params, sampling))
}

const maxFields = 20

/** Asks one question per field. A user who answers none has declined. */
async function elicit(
  server: string,
  params: unknown,
  question: (questions: readonly Question[]) => QuestionAnswers | Promise<QuestionAnswers>,
): Promise<object> {
  const { message, requestedSchema, mode } = isRecord(params) ? params : {}
  const properties =
    isRecord(requestedSchema) && isRecord(requestedSchema['properties']) ? requestedSchema['properties'] : {}
  const fields = Object.entries(properties).filter(([, field]) => isRecord(field)) as [
    string,
    Record<string, unknown>,
  ][]
  // Links to open and forms with too many fields are not passed to the question handler.
  if ((mode !== undefined && mode !== 'form') || fields.length === 0 || fields.length > maxFields)
    return { action: 'decline' }
  const said = visibleText(String(message ?? '').slice(0, 2_000))
  const questions = fields.map(([name, field]): Question => {
    const preset = field['default']
    const title = `${visibleLine(String(field['description'] ?? field['title'] ?? name), 300)}${
      isPreset(preset, field) ? ` (${visibleLine(String(preset), 100)} by default)` : ''
    }`
    const choices = choicesOf(field)
    return {
      header: `The MCP server "${server}" asks`,
      question: fields.length === 1 && !isPreset(preset, field) ? said || title : `${said}\n${title}`,
      ...(choices.length > 0 && { options: choices.map((label) => ({ label: visibleLine(label, 100) })) }),
      ...(field['type'] === 'array' && { multi_select: true }),
    }
  })
  const { answers } = await question(questions)
  const content: Record<string, unknown> = {}
  for (const [at, [name, field]] of fields.entries()) {
    const value = readAnswer(answers[at] ?? [], field)
    if (value !== undefined) content[name] = value
  }
  if (Object.keys(content).length === 0) return { action: 'decline' }
  // Fields without an answer get their defaults: the user saw them and answered other fields.
  for (const [at, [name, field]] of fields.entries())
    if (isOpen(answers[at]) && isPreset(field['default'], field)) content[name] = field['default']
  return { action: 'accept', content }
}

function isOpen(answer: readonly string[] | undefined): boolean {
  return answer === undefined || answer.every((one) => one.trim() === '')
}

function isPreset(value: unknown, field: Record<string, unknown>): boolean {
  if (field['type'] === 'integer') return Number.isSafeInteger(value)
  if (field['type'] === 'string') return typeof value === 'string' && value.length <= 2_000
  return (field['type'] === 'number' || field['type'] === 'boolean') && typeof value === field['type']
}

function choicesOf(field: Record<string, unknown>): string[] {
  if (field['type'] === 'boolean') return ['yes', 'no']
  const inner = isRecord(field['items']) ? field['items'] : field
  const named = [inner['oneOf'], inner['anyOf']].find(Array.isArray)
  const list = Array.isArray(inner['enum'])
    ? inner['enum']
    : (named ?? []).map((one: unknown) => (isRecord(one) ? one['const'] : undefined))
  return list.filter((one: unknown): one is string => typeof one === 'string').slice(0, 50)
}

function readAnswer(answer: readonly string[], field: Record<string, unknown>): unknown {
  const [first] = answer
  if (first === undefined) return undefined
  if (field['type'] === 'boolean') return /^(yes|true|y)$/i.test(first)
  if (field['type'] === 'array') return [...answer]
  if (field['type'] !== 'number' && field['type'] !== 'integer') return first
  const number = Number(first)
  return first.trim() === '' || !Number.isFinite(number) ? undefined : number
}

async function sample(server: string, params: unknown, sampling: McpSamplingHandler): Promise<object> {
  const { messages, systemPrompt, maxTokens } = isRecord(params) ? params : {}
  const answer = await sampling({
    server,
    messages: Array.isArray(messages) ? messages.slice(0, 100) : [],
    ...(typeof systemPrompt === 'string' && { systemPrompt: systemPrompt.slice(0, 20_000) }),
    ...(typeof maxTokens === 'number' && { maxTokens }),
  })
  if (answer === undefined) throw new Error('The user refused the request.')
  return { role: 'assistant', model: answer.model, content: { type: 'text', text: answer.text } }
}
