import type { CompletionRequest } from '../../tool/completion.js'
import { AnswerBuilder } from '../answer-builder.js'
import type { ModelAnswer, ModelCall } from '../model.js'
import { drive } from './drive.js'
import { turnOf } from './turn.js'
import { examples, understand } from './understand.js'

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

/** Emits the text in small pieces, like any model. */
async function speak(words: string, builder: AnswerBuilder, call: ModelCall): Promise<void> {
  for (const piece of words.match(/\S+\s*|\s+/g) ?? []) {
    builder.text(piece)
    await call.drain?.()
    call.signal.throwIfAborted()
  }
}
