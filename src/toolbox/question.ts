import type { ToolCallContext } from '../tool/contract.js'
import { builtInTool } from '../tool/create-json-tool.js'
import { CapstanError, markErrorClass } from '../tool/errors.js'
import { isRecord } from '../tool/json.js'
import { objectSchema } from '../tool/object-schema.js'
import type { Question } from '../tool/session-services.js'
import { unlessAborted } from '../tool/unless-aborted.js'

/** The text that a model gets when no user can answer. The same text on every such host. */
export const noUser =
  'No user can answer: this session runs without a user. Decide by your own best judgement, continue, and say in your final ' +
  'answer what you assumed.'

/** Thrown when the questions could not be asked, or the host returned no valid answer. */
export class QuestionError extends CapstanError {
  constructor(message: string) {
    super('question_unanswered', message)
  }
}

markErrorClass(QuestionError, 'QuestionError')

type QuestionArgs = { questions: Question[] }

/** Asks the user questions, and waits for the answers. */
export const questionTool = builtInTool<QuestionArgs, { answers: string[][] }>({
  name: 'question',
  description:
    'Ask the user and wait for the answer. Use it only when the answer changes what you do and cannot be found out. Offer ' +
    'options where you can; other words are taken too. `answers` has one list a question, empty if skipped.',
  kind: 'other',
  parameters: objectSchema({
    questions: {
      type: 'array',
      minItems: 1,
      maxItems: 10,
      items: objectSchema({
        question: { type: 'string', minLength: 1, maxLength: 2_000 },
        'header?': { type: 'string', maxLength: 60 },
        'options?': {
          type: 'array',
          maxItems: 20,
          items: objectSchema({
            label: { type: 'string', minLength: 1, maxLength: 200 },
            'description?': { type: 'string', maxLength: 500 },
          }),
        },
        'multi_select?': { type: 'boolean', default: false },
      }),
    },
  }),
  execute: ask,
})

async function ask(
  { questions }: QuestionArgs,
  { runtime, signal }: ToolCallContext,
): Promise<{ answers: string[][] }> {
  const put = runtime?.session?.ask
  if (put === undefined) throw new QuestionError(noUser)
  // A host's dialog may ignore the signal; the run must not wait for it.
  return { answers: checkAnswers(questions, await unlessAborted(put(questions, signal), signal, withdrawn)) }
}

const withdrawn = (): QuestionError => new QuestionError('The question was withdrawn before it was answered.')

const maxAnswers = 50
const maxAnswerLength = 20_000

/**
 * Checks that there is a list of texts for each question, with at most one text unless several can be chosen. Texts
 * other than the options are valid too.
 */
function checkAnswers(questions: readonly Question[], given: unknown): string[][] {
  const answers = isRecord(given) ? given['answers'] : undefined
  if (!Array.isArray(answers) || answers.length !== questions.length)
    throw nonsense(`${questions.length} lists of answers were expected, one for each question`)
  return questions.map((question, at) => {
    const list: unknown = answers[at]
    const what = `the answer to question ${at + 1}`
    if (!Array.isArray(list) || !list.every((item) => typeof item === 'string'))
      throw nonsense(`${what} is not a list of texts`)
    if (list.length > 1 && question.multi_select !== true)
      throw nonsense(`${what} has ${list.length} texts where one was asked for`)
    if (list.length > maxAnswers || list.some((item) => item.length > maxAnswerLength))
      throw nonsense(`${what} is longer than ${maxAnswers} texts of ${maxAnswerLength} characters`)
    return [...list]
  })
}

function nonsense(what: string): QuestionError {
  return new QuestionError(
    `The host gave no usable answer: ${what}. Continue with your best judgement, and say what you assumed.`,
  )
}
