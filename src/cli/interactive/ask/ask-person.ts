import { formatRule } from '../../../authority/rule.js'
import type { AskAnswer, AskRequest } from '../../../loop/ask.js'
import type { Colors } from '../../terminal/colors.js'
import { safeLine } from '../../terminal/safe-text.js'
import { widthOf } from '../../terminal/width.js'
import { wrapText } from '../../terminal/wrap.js'
import type { Asking, Choice } from '../asking.js'
import { describeAsk } from './describe-ask.js'
import { dryRun } from './dry-run.js'

export type AskPlace = {
  readonly root: string
  readonly colors: Colors
  readonly columns: number
  /** Aborted when nothing waits for the answer any more. */
  readonly signal?: AbortSignal
}

/** Shows the user what a call would do, and takes the decision. Anything but a clear yes rejects the call. */
export async function askPerson(
  request: AskRequest,
  asking: Asking,
  { root, colors, columns, signal }: AskPlace,
): Promise<AskAnswer> {
  const preview = request.diff === undefined ? await dryRun(request.toolName, request.args, root) : undefined
  const described = describeAsk(request, preview, colors)
  const offer = offerOf(request, columns)
  const choices = choicesFor(offer.label)
  const about = (width: number, rows: number): readonly string[] => [
    ...described.about(width, Math.max(1, rows - offer.lines.length)),
    ...offer.lines.map((line) => `  ${line}`),
  ]
  const chosen = await asking.choose({
    title: described.title,
    choices,
    about,
    whole: described.whole,
    signal,
  })
  if (!asking.leavesQuestion) await asking.print(['', ...about(columns, maxRecordRows)])
  const { dim, green, red, yellow } = colors
  const arrow = `  ${dim('→')} `
  if (signal?.aborted === true) {
    await asking.print([`${arrow}${yellow('withdrawn: the call does not wait for an answer any more')}`])
    return withdrawnAnswer
  }
  const choice = chosen === undefined ? undefined : choices[chosen]
  if (choice === undefined || choice.answer === 'reject' || choice.answer === 'reject-with-words') {
    const words =
      choice?.answer === 'reject-with-words'
        ? await asking.askLine({ title: 'What should it do instead?', direct: true, signal })
        : undefined
    await asking.print([`${arrow}${red(words === undefined ? 'no' : 'no, and said why')}`])
    return rejection(words)
  }
  await asking.print([`${arrow}${green(choice.label)}`])
  return { decision: choice.answer }
}

/** The answer for a call that no longer waits for one. */
export const withdrawnAnswer: AskAnswer = { decision: 'reject', message: 'The question was withdrawn.' }

/** How many rows of a question stay on the screen above its answer. */
const maxRecordRows = 60

type AskChoice = Choice & { readonly answer: AskAnswer['decision'] | 'reject-with-words' }

/** The rules that `session` and `always` add: their text for the choices, and lines that show them whole where that has no room. */
type Offer = { readonly label: string | undefined; readonly lines: readonly string[] }

/** A rule is shown to its last character, or not offered: the user must be able to read what they agree to. */
function offerOf({ suggestion }: AskRequest, columns: number): Offer {
  const rules = (suggestion ?? []).map((rule) => safeLine(formatRule(rule), maxRuleLength))
  if (rules.length === 0 || rules.some((rule) => rule.endsWith('…'))) return { label: undefined, lines: [] }
  const joined = rules.join(', ')
  if (widthOf(joined) <= columns - 40) return { label: `: ${joined}`, lines: [] }
  const [title, label] =
    rules.length === 1
      ? ['"s" and "a" add the rule:', ', with the rule above']
      : ['"s" and "a" add the rules:', ', with the rules above']
  return { label, lines: [title, ...rules.flatMap((rule) => wrapText(`  ${rule}`, columns - 4, '    '))] }
}

const maxRuleLength = 1_000

/** `session` and `always` are offered only with the exact rules that they add. */
function choicesFor(added: string | undefined): readonly AskChoice[] {
  return [
    { key: 'y', label: 'yes, once', answer: 'once' },
    ...(added === undefined
      ? []
      : ([
          { key: 's', label: `yes, in this session${added}`, answer: 'session' },
          { key: 'a', label: `yes, always in this project${added}`, answer: 'always' },
        ] as const)),
    { key: 'n', label: 'no', answer: 'reject' },
    { key: 'm', label: 'no, and say why', answer: 'reject-with-words' },
  ]
}

function rejection(words: string | undefined): AskAnswer {
  const said = words?.trim() ?? ''
  return { decision: 'reject', ...(said !== '' && { message: said }) }
}
