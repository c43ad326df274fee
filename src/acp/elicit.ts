import type { QuestionSource } from '../feature/question.js'
import { isRecord, type JsonSchema } from '../tool/json.js'
import type { Question, QuestionAnswers } from '../tool/session-services.js'
import type { AcpClient } from './acp-client.js'

/** Shows the questions of a model to the user as one form. A question without an answer gets an empty list. */
export async function elicit(
  client: AcpClient,
  sessionId: string,
  questions: readonly Question[],
  from: QuestionSource | undefined,
  signal: AbortSignal,
): Promise<QuestionAnswers> {
  const properties = Object.fromEntries(questions.flatMap(fieldsOf))
  const by = from === undefined ? '' : ` (asked by the agent ${from.agent})`
  const [first] = questions
  const message = questions.length === 1 && first !== undefined ? first.question : 'The agent has questions.'
  const answer = await client.request(
    'elicitation/create',
    {
      mode: 'form',
      sessionId,
      message: `${message}${by}`,
      requestedSchema: { type: 'object', properties, required: [] },
    },
    signal,
  )
  const isAccepted = isRecord(answer) && answer['action'] === 'accept'
  const content = isAccepted && isRecord(answer['content']) ? answer['content'] : {}
  return {
    answers: questions.map((_, at) => {
      const other = textsOf(content[otherName(at)])
      return other.length > 0 ? other : textsOf(content[fieldName(at)])
    }),
  }
}

/** Returns the field of a question, and one for a free answer if there are options to choose from. */
function fieldsOf(
  { question, header, options = [], multi_select }: Question,
  at: number,
): [string, JsonSchema][] {
  const shown = { title: header ?? question, description: question }
  if (options.length === 0) return [[fieldName(at), { type: 'string', ...shown }]]
  const choices = options.map(({ label, description }) => ({
    const: label,
    title: description === undefined ? label : `${label}: ${description}`,
  }))
  const field =
    multi_select === true
      ? { type: 'array', ...shown, items: { anyOf: choices } }
      : { type: 'string', ...shown, oneOf: choices }
  const other = { type: 'string', title: 'Another answer', description: question }
  return [
    [fieldName(at), field],
    [otherName(at), other],
  ]
}

const fieldName = (at: number): string => `answer_${at + 1}`
const otherName = (at: number): string => `other_${at + 1}`

function textsOf(value: unknown): string[] {
  const all = Array.isArray(value) ? value : [value]
  return all.filter((each) => typeof each === 'string').filter((each) => each.trim() !== '')
}
