import { formatRule } from '../../../authority/rule.js'
import type { AskAnswer, AskRequest } from '../../../loop/ask.js'
import type { Colors } from '../../terminal/colors.js'
import { safeLine } from '../../terminal/safe-text.js'
import { widthOf } from '../../terminal/width.js'
import { wrapText } from '../../terminal/wrap.js'
import type { Asking, Choice } from '../asking.js'
import { describeAsk } from './describe-ask.js'
import { dryRun } from './dry-run.js'

/** Shows a person what a call would do, and takes their decision. Anything but a clear yes is a no. */
export async function askPerson(
  request: AskRequest,
  asking: Asking,
  { root, colors, columns }: { readonly root: string; readonly colors: Colors; readonly columns: number },
): Promise<AskAnswer> {
  const preview = request.diff === undefined ? await dryRun(request.toolName, request.args, root) : undefined
  const offer = offerOf(request, columns)
  await asking.print([
    '',
    ...describeAsk(request, preview, colors, columns),
    ...offer.lines.map((line) => `  ${line}`),
  ])
  const choices = choicesFor(offer.label)
  const chosen = await asking.choose('Do it?', choices)
  const choice = chosen === undefined ? undefined : choices[chosen]
  const { dim, green, red } = colors
  if (choice === undefined || choice.answer === 'reject' || choice.answer === 'reject-with-words') {
    const words =
      choice?.answer === 'reject-with-words' ? await asking.askLine('What should it do instead?') : undefined
    await asking.print([`  ${dim('→')} ${red(words === undefined ? 'no' : 'no, and said why')}`])
    return refusal(words)
  }
  await asking.print([`  ${dim('→')} ${green(choice.label)}`])
  return { decision: choice.answer }
}

type AskChoice = Choice & { readonly answer: AskAnswer['decision'] | 'reject-with-words' }

/** How the rules that would be added are called, and lines that show them whole where the name cannot. */
type Offer = { readonly label: string | undefined; readonly lines: readonly string[] }

/** Nobody agrees to a rule that they cannot read: it is shown to its last letter, or not offered. */
function offerOf({ suggestion }: AskRequest, columns: number): Offer {
  const rules = (suggestion ?? []).map((rule) => safeLine(formatRule(rule), longestRule))
  if (rules.length === 0 || rules.some((rule) => rule.endsWith('…'))) return { label: undefined, lines: [] }
  const joined = rules.join(', ')
  if (widthOf(joined) <= columns - 40) return { label: `: ${joined}`, lines: [] }
  const [title, label] =
    rules.length === 1
      ? ['"s" and "a" add the rule:', ', with the rule above']
      : ['"s" and "a" add the rules:', ', with the rules above']
  return { label, lines: [title, ...rules.flatMap((rule) => wrapText(`  ${rule}`, columns - 4, '    '))] }
}

const longestRule = 1_000

/** For the session and for good are offered only with the very rules they would add. */
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

function refusal(words: string | undefined): AskAnswer {
  const said = words?.trim() ?? ''
  return { decision: 'reject', ...(said !== '' && { message: said }) }
}
