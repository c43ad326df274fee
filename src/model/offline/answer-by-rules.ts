import type { CompletionRequest } from '../../tool/completion.js'
import { AnswerBuilder } from '../answer-builder.js'
import type { ModelAnswer, ModelCall } from '../model.js'
import type { CallStep, Plan, Result } from './plan.js'
import { turnOf } from './turn.js'
import { examples, type Planned, understand } from './understand.js'

/** Returns the next call, or the final text, for the user's request. */
export async function answerByRules(
  request: CompletionRequest,
  call: ModelCall,
  howToConfigure: string,
): Promise<ModelAnswer> {
  call.signal.throwIfAborted()
  const { prompt, results, isFirst } = turnOf(request.chatHistory)
  const requests = understand(prompt)
  const builder = new AnswerBuilder(request, call)
  if (requests.every(({ plan }) => plan === undefined)) {
    await speak(helpWords(prompt, howToConfigure), builder, call)
  } else {
    const move = drive(requests, results, new Set(request.tools.map(({ name }) => name)))
    if ('call' in move) {
      await speak(move.call.say, builder, call)
      builder.toolCall(move.call.tool).append(JSON.stringify(move.call.args))
    } else {
      await speak(isFirst ? `${move.words}\n\n${signed}` : move.words, builder, call)
    }
  }
  return builder.finish({ finish: 'stop', response: { model: 'rules' } })
}

const signed = '(I am the offline model: no language model is configured, and I only follow simple rules.)'

function helpWords(prompt: string, howToConfigure: string): string {
  const greeting = prompt === '' || /^(?:hi|hello|hey|help|what can you do)\b/i.test(prompt)
  return [
    ...(greeting ? [] : ['I did not understand that.']),
    'I am the offline model: no language model is configured, and I only follow simple rules. I understand requests such as:',
    examples()
      .map((line) => `    ${line}`)
      .join('\n'),
    'Several of them may be joined by "then", or written as a numbered list.',
    howToConfigure,
  ].join('\n\n')
}

/** Emits the text in small pieces, like other models. */
async function speak(words: string, builder: AnswerBuilder, call: ModelCall): Promise<void> {
  for (const piece of words.match(/\S+\s*|\s+/g) ?? []) {
    builder.text(piece)
    await call.drain?.()
    call.signal.throwIfAborted()
  }
}

type Move = { readonly call: CallStep } | { readonly words: string }

/**
 * Returns the next step for a list of requests, from the calls made so far: the next call, or the final text. Requests
 * are processed in order; one that fails ends the list, because the rest may depend on it.
 */
function drive(requests: readonly Planned[], results: readonly Result[], offered: ReadonlySet<string>): Move {
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
