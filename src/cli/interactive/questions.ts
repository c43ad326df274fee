import type { QuestionCall, QuestionHandler, QuestionSource } from '../../feature/question.js'
import { isRecord } from '../../tool/json.js'
import type { Question, QuestionAnswers } from '../../tool/session-services.js'
import type { Colors } from '../terminal/colors.js'
import { safeLine, safeText } from '../terminal/safe-text.js'
import { wrapText } from '../terminal/wrap.js'
import type { AskQueue } from './ask/ask-queue.js'
import type { Prompter } from './prompter.js'

/** Asks the user the questions of models, one at a time, in the same queue as all other questions. */
export function questionHandler(
  asks: AskQueue,
  prompter: Prompter,
  view: { readonly colors: Colors; columns(): number },
): QuestionHandler {
  return (questions, from, call) =>
    asks.put(
      () => call?.signal.aborted !== true,
      (signal) => {
        const { colors } = view
        return askQuestions(questions, from, prompter, { colors, columns: view.columns(), signal, call })
      },
      { answers: questions.map(() => []) },
    )
}

type QuestionView = {
  readonly colors: Colors
  readonly columns: number
  /** Aborted when the call no longer waits for the answers. */
  readonly signal: AbortSignal
  readonly call: QuestionCall | undefined
}

/**
 * Asks the questions. A question without an answer has an empty list. Answers given in another client, such as a
 * browser, are printed.
 */
async function askQuestions(
  questions: readonly Question[],
  from: QuestionSource | undefined,
  prompter: Prompter,
  view: QuestionView,
): Promise<QuestionAnswers> {
  const answers: string[][] = []
  for (const question of questions) answers.push(await askOne(question, from, prompter, view))
  if (!view.signal.aborted) return { answers }
  const { dim } = view.colors
  const given = answersOf(view.call)?.answers ?? []
  await prompter.print([
    ...given.map((one) => `  ${dim('→')} ${safeLine(one.join(', '), 300)} ${dim('(in another client)')}`),
    ...(given.length === 0 ? [`  ${dim('→ no answer')}`] : []),
    '',
  ])
  return { answers }
}

/** The answers that another client has given. */
function answersOf(call: QuestionCall | undefined): QuestionAnswers | undefined {
  const reason: unknown = call?.signal.reason
  return isRecord(reason) && Array.isArray(reason['answers']) ? (reason as QuestionAnswers) : undefined
}

async function askOne(
  { question, header, options = [], multi_select }: Question,
  from: QuestionSource | undefined,
  prompter: Prompter,
  view: QuestionView,
): Promise<string[]> {
  const { colors, columns, signal } = view
  if (signal.aborted) return []
  const by =
    from === undefined ? '' : colors.dim(` (${safeLine(from.agent, 60)}: ${safeLine(from.description, 200)})`)
  const [first = '', ...rest] = wrapText(safeText(question), columns - 3)
  const head = header === undefined ? first : colors.bold(safeLine(header, 80))
  const below = header === undefined ? rest : [first, ...rest]
  await prompter.print(['', `${colors.cyan('?')} ${head}${by}`, ...below.map((line) => `  ${line}`)])
  const labels = options.map(({ label }) => label)
  const answer =
    labels.length > 0 && labels.length < 9 && multi_select !== true
      ? await oneOf(safeLine(question, 160), options, prompter, signal)
      : await inWords(options, multi_select === true, prompter, colors, signal)
  // The question was withdrawn meanwhile.
  if (view.signal.aborted) return []
  await prompter.print([
    `  ${colors.dim('→')} ${answer.length === 0 ? colors.dim('no answer') : safeLine(answer.join(', '), 300)}`,
    '',
  ])
  return answer
}

async function oneOf(
  title: string,
  options: NonNullable<Question['options']>,
  prompter: Prompter,
  signal: AbortSignal | undefined,
): Promise<string[]> {
  const choices = [
    ...options.map(({ label, description }, at) => ({
      key: String(at + 1),
      label: safeLine(description === undefined ? label : `${label}: ${description}`, 300),
    })),
    { key: 'o', label: 'something else' },
  ]
  const chosen = await prompter.choose({ title, choices, signal })
  if (chosen === undefined) return []
  const option = options[chosen]
  if (option !== undefined) return [option.label]
  const text = (await prompter.askLine({ title: 'Your answer', direct: true, signal }))?.trim()
  return text ? [text] : []
}

async function inWords(
  options: NonNullable<Question['options']>,
  several: boolean,
  prompter: Prompter,
  { cyan }: Colors,
  signal: AbortSignal | undefined,
): Promise<string[]> {
  if (options.length > 0)
    await prompter.print(
      options.map(
        ({ label, description }, at) =>
          `  ${cyan(String(at + 1))} ${safeLine(description === undefined ? label : `${label}: ${description}`, 300)}`,
      ),
    )
  const title =
    options.length === 0
      ? 'Your answer'
      : several
        ? 'Numbers separated by commas, or your own answer'
        : 'A number, or your own answer'
  const text = (await prompter.askLine({ title, signal }))?.trim() ?? ''
  if (text === '') return []
  const numbers = /^\d+(\s*,\s*\d+)*$/.test(text)
    ? text.split(',').map((each) => options[Number(each) - 1]?.label)
    : []
  const named = numbers.filter((label) => label !== undefined)
  if (named.length === 0 || named.length < numbers.length) return [text]
  return several ? [...new Set(named)] : named.slice(0, 1)
}
