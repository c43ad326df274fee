import { formatRule } from '../../../authority/rule.js'
import type { AskAnswer, AskRequest } from '../../../loop/ask.js'
import { safeLine } from '../../terminal/safe-text.js'

/** What a person can answer. */
export type AskChoice = {
  readonly key: string
  readonly label: string
  readonly answer: AskAnswer['decision'] | 'reject-with-words'
}

/** For the session and for good are offered only with the very rules they would add. */
export function choicesFor({ suggestion }: AskRequest): readonly AskChoice[] {
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

export const refused: AskAnswer = { decision: 'reject', message: 'The user refused this call.' }

export function refusedWith(words: string | undefined): AskAnswer {
  const message = words?.trim()
  return message === undefined || message === ''
    ? refused
    : { decision: 'reject', message: `The user refused this call and said: ${message}` }
}
