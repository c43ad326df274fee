import { describe, expect, it } from 'vitest'
import type { AssistantContent, CompletionRequest, Message } from '../../tool/completion.js'
import { differenceAt, ReplayError } from './difference.js'
import { recordedModel } from './recorded-model.js'

const user = (text: string): Message => ({ role: 'user', content: [{ type: 'text', text }] })
const says = (text: string): Message => ({ role: 'assistant', content: [{ type: 'text', text }] })
const calls = (id: string, args: object): AssistantContent => ({
  type: 'tool_call',
  id,
  function: { name: 'read', arguments: args as never },
})
const result = (id: string, text: string): Message => ({
  role: 'tool',
  content: [{ type: 'tool_result', id, content: [{ type: 'text', text }] }],
})

describe('differenceAt', () => {
  it('finds none between messages with the same content', () => {
    expect(differenceAt(0, user('a'), user('a'))).toBeUndefined()
  })

  it('ignores what providers generate each time: ids of calls, and reasoning', () => {
    const one: Message = {
      role: 'assistant',
      content: [{ type: 'reasoning', text: 'hm' }, calls('x', { a: 1 })],
    }
    const other: Message = { role: 'assistant', content: [calls('y', { a: 1 })] }
    expect(differenceAt(0, one, other)).toBeUndefined()
  })

  it('names the position inside a message, and shows both sides from shortly before it', () => {
    const long = 'x'.repeat(300)
    expect(differenceAt(1, says(`${long}left`), says(`${long}right`), 'm7')).toMatchObject({
      position: 1,
      messageId: 'm7',
      words: expect.stringMatching(
        /^Message 2 \(assistant\) differs at content\[0\]\.text: expected "…x{40}left", found "…x{40}right"\.$/,
      ),
    })
    const [one, other] = [{ a: { b: [1, 2] } }, { a: { b: [1, 3] } }]
    const message = (args: object): Message => ({ role: 'assistant', content: [calls('x', args)] })
    expect(differenceAt(0, message(one), message(other))?.words).toContain(
      'differs at content[0].function.arguments.a.b[1]: expected 2, found 3',
    )
  })

  it('reports when something is missing, or when there is more than was recorded', () => {
    expect(differenceAt(2, user('a'), undefined)?.words).toMatch(
      /^Message 3: one of the role user was recorded, and none came/,
    )
    expect(differenceAt(2, undefined, user('a'))?.words).toMatch(/^Message 3: nothing more was recorded/)
    expect(differenceAt(0, user('a'), { role: 'user', content: [] })?.words).toContain('found nothing')
  })
})

describe('recordedModel', () => {
  const recording = [
    user('look'),
    {
      role: 'assistant',
      content: [{ type: 'text', text: 'Reading.' }, calls('c1', { path: 'a' })],
    } as Message,
    result('c1', 'content'),
    says('Done.'),
  ]
  function asker(model: ReturnType<typeof recordedModel>) {
    const said: string[] = []
    const call = {
      signal: new AbortController().signal,
      on: (event: { type: string; text?: string }) =>
        void said.push(`${event.type} ${event.text ?? ''}`.trim()),
    }
    const ask = (chatHistory: readonly Message[]) =>
      model.answer({ chatHistory } as CompletionRequest as never, call as never)
    return { ask, said }
  }

  it('answers with the recorded answers, in order and with the same text', async () => {
    const { ask, said } = asker(recordedModel(recording))
    expect(await ask(recording.slice(0, 1))).toMatchObject({
      text: 'Reading.',
      finish: 'tool_calls',
      toolCalls: [{ id: 'c1', name: 'read', input: '{"path":"a"}' }],
    })
    expect(await ask(recording.slice(0, 3))).toMatchObject({ text: 'Done.', finish: 'stop' })
    expect(said).toEqual(['text Reading.', 'tool_call', 'tool_input {"path":"a"}', 'text Done.'])
  })

  it('stops where a tool returned another result than the recorded one', async () => {
    const { ask } = asker(recordedModel(recording))
    await ask(recording.slice(0, 1))
    const other = [...recording.slice(0, 2), result('c1', 'changed')]
    const failed = await ask(other).catch((error: unknown) => error)
    expect(failed).toBeInstanceOf(ReplayError)
    expect(failed).toMatchObject({ code: 'replay_difference', difference: { position: 2 } })
  })

  it('answers any request when comparing is turned off', async () => {
    const { ask } = asker(recordedModel(recording, { check: false }))
    expect(await ask([user('something else')])).toMatchObject({ text: 'Reading.' })
  })

  it('reports that it has no more answers', async () => {
    const { ask } = asker(recordedModel([user('look'), says('Done.')]))
    await ask([user('look')])
    await expect(ask([user('look'), says('Done.')])).rejects.toThrow('The recording has no more answers')
  })

  it('returns an empty answer where an empty one was recorded', async () => {
    const { ask } = asker(recordedModel([user('one'), user('two'), says('Two.')]))
    expect(await ask([user('one')])).toMatchObject({ text: '', toolCalls: [] })
    expect(await ask([user('one'), user('two')])).toMatchObject({ text: 'Two.' })
  })

  it('does not answer an aborted request', async () => {
    const model = recordedModel(recording)
    const call = { signal: AbortSignal.abort(), on: () => undefined }
    await expect(model.answer({ chatHistory: [] } as never, call as never)).rejects.toMatchObject({
      name: 'AbortError',
    })
  })
})
