import type { JsonObject } from '../../../tool/json.js'
import { call, done, excerpt, failureOf, indented, type Kind } from '../plan.js'
import { looksLikePath, splitPlace } from '../sentence.js'

/** Shows the state, changes, history or branches of the repository. */
export const git: Kind = {
  examples: ['show git status', 'show the diff', 'show the last 5 commits', 'which branch is this'],
  understand(sentence) {
    const asked = argsFor(sentence)
    if (asked === undefined) return undefined
    const { args, title } = asked
    return ([found]) => {
      if (found === undefined) return call('git', args, `Asking git: ${title.toLowerCase()}.`)
      if (found.failed) return failureOf(found, `asking git for the ${title.toLowerCase()}`)
      return done(`${title}:\n\n${indented(excerpt(found.text, 80))}`)
    }
  },
}

function argsFor(sentence: string): { args: JsonObject; title: string } | undefined {
  const { rest, place } = splitPlace(sentence)
  const path = place !== undefined && looksLikePath(place) ? { path: place } : {}
  const asks = (words: RegExp): boolean => words.test(rest)
  const many = /\b(\d{1,3})\b/.exec(rest)?.[1]
  if (asks(/\b(?:log|history|(?:last|recent|latest)(?:\s+\d+)?\s+commits?|commits)\b/i) && asks(opening))
    return {
      args: {
        command: 'log',
        ...(many !== undefined && { max_count: Math.min(200, Math.max(1, Number(many))) }),
        ...path,
      },
      title: 'Latest commits',
    }
  if (asks(/\bdiff\b/i) && asks(opening))
    return { args: { command: 'diff', ...path }, title: 'Changes that are not staged' }
  if (asks(/\bbranch(?:es)?\b/i) && asks(opening)) return { args: { command: 'branch' }, title: 'Branches' }
  if (
    asks(
      /\b(?:git|repository|repo)\b.*\b(?:status|state)\b|^(?:status|git)$|\bwhat(?:'s| has| was| is)?\s+(?:changed|modified|new|dirty)\b|\b(?:uncommitted|local|pending)\s+changes\b|^show\s+(?:the\s+)?(?:status|changes)$/i,
    )
  )
    return { args: { command: 'status' }, title: 'State of the repository' }
  return undefined
}

const opening = /^(?:show(?:\s+me)?|git|print|list|display|give|what|which|see|view|log|diff|history)\b/i
