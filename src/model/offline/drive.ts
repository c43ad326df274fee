import type { CallStep, Plan, Result } from './plan.js'

/** A request with its plan; without one it was not understood. */
export type Planned = { readonly sentence: string; readonly plan: Plan | undefined }

export type Move = { readonly call: CallStep } | { readonly words: string }

/**
 * Returns what to do next for a list of requests, from the calls made so far: the next call, or the final text.
 * Requests are processed in order; one that fails ends the list, because the rest may depend on it.
 */
export function drive(
  requests: readonly Planned[],
  results: readonly Result[],
  offered: ReadonlySet<string>,
): Move {
  const words: string[] = []
  let used = 0
  for (const [index, { sentence, plan }] of requests.entries()) {
    const { move, taken, done } = pursue(sentence, plan, results.slice(used), offered)
    if ('call' in move) return move
    words.push(move.words)
    used += taken
    const left = requests.slice(index + 1)
    if (!done && left.length > 0) {
      words.push(`I stopped there, and have not done: ${left.map((each) => each.sentence).join('; ')}.`)
      break
    }
  }
  return { words: words.join('\n\n') }
}

function pursue(
  sentence: string,
  plan: Plan | undefined,
  results: readonly Result[],
  offered: ReadonlySet<string>,
): { move: Move; taken: number; done: boolean } {
  if (plan === undefined)
    return { move: { words: `I did not understand "${sentence}".` }, taken: 0, done: false }
  for (let taken = 0; ; taken++) {
    const step = plan(results.slice(0, taken))
    if ('words' in step) return { move: { words: step.words }, taken, done: step.done }
    if (!offered.has(step.tool)) {
      const words = `For "${sentence}" I would need the tool "${step.tool}", which is not offered here.`
      return { move: { words }, taken, done: false }
    }
    if (taken >= results.length) return { move: { call: step }, taken, done: false }
  }
}
