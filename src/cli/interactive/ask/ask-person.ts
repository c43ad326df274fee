import { formatRule } from '../../../authority/rule.js'
import type { AskAnswer, AskRequest } from '../../../loop/ask.js'
import type { Colors } from '../../terminal/colors.js'
import { safeLine } from '../../terminal/safe-text.js'
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
  await asking.print(['', ...describeAsk(request, preview, colors, columns)])
  const choices = choicesFor(request)
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

/** For the session and for good are offered only with the very rules they would add. */
function choicesFor({ suggestion }: AskRequest): readonly AskChoice[] {
  const rules = (suggestion ?? []).map(formatRule)
  const added = safeLine(rules.join(', '), 200)
  return [
    { key: 'y', label: 'yes, once', answer: 'once' },
    ...(rules.length > 0
      ? ([
          { key: 's', label: `yes, in this session: ${added}`, answer: 'session' },
          { key: 'a', label: `yes, always in this project: ${added}`, answer: 'always' },
        ] as const)
      : []),
    { key: 'n', label: 'no', answer: 'reject' },
    { key: 'm', label: 'no, and say why', answer: 'reject-with-words' },
  ]
}

function refusal(words: string | undefined): AskAnswer {
  const said = words?.trim() ?? ''
  return {
    decision: 'reject',
    message: said === '' ? 'The user refused this call.' : `The user refused this call and said: ${said}`,
  }
}
