import { formatRule } from '../../../authority/rule.js'
import type { AskAnswer, AskRequest } from '../../../loop/ask.js'
import { dryRun } from '../../../session/history/dry-run.js'
import type { Colors } from '../../terminal/colors.js'
import { safeLine } from '../../terminal/safe-text.js'
import { widthOf } from '../../terminal/width.js'
import { wrapText } from '../../terminal/wrap.js'
import type { Choice, Prompter } from '../prompter.js'
import { describeAsk } from './describe-ask.js'

export type AskContext = {
  readonly root: string
  readonly colors: Colors
  readonly columns: number
  /** Aborted when the call no longer waits for an answer. */
  readonly signal?: AbortSignal
}

/** Shows the user what a call would do, and returns their decision. Anything but an explicit yes rejects the call. */
export async function askApproval(
  request: AskRequest,
  prompter: Prompter,
  { root, colors, columns, signal }: AskContext,
): Promise<AskAnswer> {
  const preview = request.diff === undefined ? await dryRun(request.toolName, request.args, root) : undefined
  const described = describeAsk(request, preview, colors)
  const offer = offerOf(request, columns)
  const choices = choicesFor(offer.label)
  const about = (width: number, rows: number): readonly string[] => [
    ...described.about(width, Math.max(1, rows - offer.lines.length)),
    ...offer.lines.map((line) => `  ${line}`),
  ]
  const chosen = await prompter.choose({
    title: described.title,
    choices,
    about,
    whole: described.whole,
    signal,
  })
  if (!prompter.leavesQuestion) await prompter.print(['', ...about(columns, maxRecordRows)])
  const { dim, green, red, yellow } = colors
  const arrow = `  ${dim('→')} `
  if (signal?.aborted === true) {
    await prompter.print([`${arrow}${yellow('withdrawn: the call no longer waits for an answer')}`])
    return withdrawnAnswer
  }
  const choice = chosen === undefined ? undefined : choices[chosen]
  if (choice === undefined || choice.answer === 'reject' || choice.answer === 'reject-with-reason') {
    const reason =
      choice?.answer === 'reject-with-reason'
        ? await prompter.askLine({ title: 'What should it do instead?', direct: true, signal })
        : undefined
    await prompter.print([`${arrow}${red(reason === undefined ? 'no' : 'no, with a reason')}`])
    return rejection(reason)
  }
  await prompter.print([`${arrow}${green(choice.label)}`])
  return { decision: choice.answer }
}

/** The answer to a question that was withdrawn. */
export const withdrawnAnswer: AskAnswer = { decision: 'reject', message: 'The question was withdrawn.' }

/** The maximum number of rows of a question that stay on the screen above its answer. */
const maxRecordRows = 60

type AskChoice = Choice & { readonly answer: AskAnswer['decision'] | 'reject-with-reason' }

/**
 * The rules that `session` and `always` add: a label for the choices, and lines with the full rules if they do not fit
 * into the label.
 */
type Offer = { readonly label: string | undefined; readonly lines: readonly string[] }

/**
 * Returns the rules to offer. A rule is shown in full, or not offered: the user must be able to read what they approve.
 */
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

/** Returns the choices. `session` and `always` are offered only with the exact rules that they add. */
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
    { key: 'm', label: 'no, with a reason', answer: 'reject-with-reason' },
  ]
}

function rejection(reason: string | undefined): AskAnswer {
  const message = reason?.trim() ?? ''
  return message === '' ? { decision: 'reject' } : { decision: 'reject', message }
}
