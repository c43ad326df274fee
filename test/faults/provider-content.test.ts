/**
 * FT-13: what a model can say wrong, seen from a session: 50 cases over real HTTP on loopback. The model gets an error
 * it can act on and the run continues, or a limit stops it; afterwards the history is well-formed and the session
 * answers again.
 */
import { describe, expect, it } from 'vitest'
import type { AgentEvent } from '../../src/loop/events.js'
import { createJsonTool } from '../../src/tool/create-json-tool.js'
import { ofType } from '../contract/open-session.js'
import {
  callChunk,
  chunk,
  done,
  expectWellFormed,
  modelAt,
  type Outcome,
  ok,
  outcomeOf,
  rawServer,
  said,
  sessionWith,
  stop,
  whole,
} from './support.js'

const echo = createJsonTool<{ word?: string }>({
  name: 'echo',
  description: 'Says it again.',
  parameters: { type: 'object', properties: { word: { type: 'string' } }, additionalProperties: false },
  execute: ({ word = 'nothing' }) => word,
})
const ended = `${chunk({}, 'tool_calls')}${done}`

/** The first answer is `first`; every other says that it is done, or what `then` says. */
async function answering(
  first: string,
  options: Record<string, unknown> = {},
  then: (number: number) => string = () => whole('Done.'),
): Promise<
  Outcome & { readonly requests: number; readonly outputs: string[]; readonly again: string | undefined }
> {
  let well = false
  const server = await rawServer((response, number) =>
    ok(response, well ? whole('Fine again.') : number === 1 ? first : then(number)),
  )
  const price = { input: 1, output: 2 }
  const { session } = await sessionWith(modelAt(server.url, { price }), {
    builtinTools: ['todo'],
    tools: [echo],
    permissionPolicy: { allow: ['echo'] },
    ...options,
  })
  const outcome = await outcomeOf(session)
  const requests = server.requests()
  expectWellFormed(session)
  well = true
  const again = (await outcomeOf(session)).result?.text
  return { ...outcome, requests, outputs: outputsOf(outcome.events), again }
}

function outputsOf(events: readonly AgentEvent[]): string[] {
  return ofType(events, 'tool_end').map(({ toolOutput }) => toolOutput)
}

describe('FT-13: arguments', () => {
  it.each<[string, unknown, RegExp]>([
    ['no JSON', 'word=hi', /not JSON/],
    ['cut off', '{"word":"h', /not JSON/],
    ['a list', '["hi"]', /object|must be/],
    ['a number', '7', /object|must be/],
    ['null', 'null', /object|must be|nothing/],
    ['of the wrong type', '{"word":{"deep":1}}', /word/],
    ['unknown', '{"wrod":"hi"}', /wrod/],
    ['of a million characters', `{"word":${JSON.stringify('w'.repeat(1_000_000))}}`, /w{100}/],
    ['ten thousand levels deep', `{"word":${'['.repeat(10_000)}${']'.repeat(10_000)}}`, /./],
    ['with a prototype in them', '{"__proto__":{"word":"evil"}}', /__proto__|nothing/],
  ])('%s: an error that the model reads, and the run continues', async (_, args, words) => {
    const { result, outputs, requests, again } = await answering(`${callChunk('echo', args)}${ended}`)
    expect(outputs).toHaveLength(1)
    expect(outputs[0]).toMatch(words)
    expect(result?.text).toBe('Done.')
    // What is too long for the model's window takes one request more, to summarise it.
    expect(requests).toBeLessThanOrEqual(3)
    expect(again).toBe('Fine again.')
  })

  it.each<[string, unknown, string]>([
    ['an object in place of text', { word: 'hi' }, 'hi'],
    ['null in place of text', null, 'nothing'],
    ['missing', undefined, 'nothing'],
    ['blank', '  \n', 'nothing'],
    ['text inside of text', JSON.stringify(JSON.stringify({ word: 'hi' })), 'hi'],
  ])('%s: accepted', async (_, args, output) => {
    const { result, outputs } = await answering(`${callChunk('echo', args)}${ended}`)
    expect(outputs).toEqual([output])
    expect(result?.text).toBe('Done.')
  })

  it('that never become JSON end the run at its limit', async () => {
    const bad = (): string => `${callChunk('echo', '{"word":')}${ended}`
    const { error, requests, again } = await answering(bad(), {}, bad)
    expect(error?.code).toBe('malformed_calls')
    expect(requests).toBe(3)
    expect(again).toBe('Fine again.')
  })

  it('cut off by the output limit do not run', async () => {
    const { outputs, result } = await answering(
      `${callChunk('echo', '{"word":"ha"}')}${chunk({}, 'length')}${done}`,
    )
    expect(outputs).toEqual([expect.stringContaining('output limit')])
    expect(result?.text).toBe('Done.')
  })
})

describe('FT-13: names and ids', () => {
  it.each<[string, string, RegExp[]]>([
    ['an unknown tool', callChunk('ecko', '{}'), [/"?echo/]],
    ['an empty name', callChunk('', '{}'), [/unnamed_tool|unknown/i]],
    ['no name at all', callChunk(undefined, '{}'), [/unnamed_tool|unknown/i]],
    ['a name of a thousand characters', callChunk('e'.repeat(1000), '{}'), [/./]],
    ['a name with a path in it', callChunk('../../bash', '{"command":"id"}'), [/./]],
    ['a tool that is not offered', callChunk('bash', '{"command":"id"}'), [/bash/]],
    ['no id', callChunk('echo', '{"word":"hi"}', { index: 0 }), [/^hi$/]],
    ['an id that is a number', callChunk('echo', '{"word":"hi"}', { index: 0, id: 5 }), [/^hi$/]],
    [
      'two calls of one id',
      callChunk('echo', '{"word":"a"}', { index: 0, id: 'x' }) +
        callChunk('echo', '{"word":"b"}', { index: 1, id: 'x' }),
      [/^a$/, /^b$/],
    ],
    [
      'an id of ten thousand characters',
      callChunk('echo', '{"word":"hi"}', { index: 0, id: 'i'.repeat(10_000) }),
      [/^hi$/],
    ],
  ])('%s', async (_, calls, words) => {
    const { result, outputs, again } = await answering(`${calls}${ended}`)
    expect(outputs).toHaveLength(words.length)
    for (const [at, word] of words.entries()) expect(outputs[at]).toMatch(word)
    expect(result?.text).toBe('Done.')
    expect(again).toBe('Fine again.')
  })

  it('the same id in every round: each call has its own result', async () => {
    const call = (number: number): string => `${callChunk('echo', `{"word":"${number}"}`)}${ended}`
    const { result, events, outputs } = await answering(call(1), {}, (number) =>
      number < 4 ? call(number) : whole('Done.'),
    )
    expect(result?.text).toBe('Done.')
    expect(outputs).toEqual(['1', '2', '3'])
    expect(new Set(ofType(events, 'tool_end').map(({ toolId }) => toolId)).size).toBe(3)
  })

  it('a hundred calls at once: a hundred results, in their order', async () => {
    const many = Array.from({ length: 100 }, (_, index) =>
      callChunk('echo', `{"word":"${index}"}`, { index, id: `c${index}` }),
    ).join('')
    const { result, outputs } = await answering(`${many}${ended}`)
    expect(result).toMatchObject({ text: 'Done.', toolCallsCount: 100 })
    expect(outputs.map(Number).sort((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, at) => at))
  })

  it('the same call again and again is stopped before the last limit', async () => {
    const call = (): string => `${callChunk('echo', '{"word":"again"}')}${ended}`
    const { error, requests, again } = await answering(call(), {}, call)
    expect(error?.code).toBe('repeated_calls')
    expect(requests).toBe(7)
    expect(again).toBe('Fine again.')
  })

  it('different calls again and again are stopped by the limit of rounds', async () => {
    const call = (number: number): string => `${callChunk('echo', `{"word":"${number}"}`)}${ended}`
    const { error, requests, again } = await answering(call(1), { maxToolRounds: 5 }, call)
    expect(error?.code).toBe('max_tool_rounds')
    expect(requests).toBe(6)
    expect(again).toBe('Fine again.')
  })
})

describe('FT-13: answers', () => {
  it.each<[string, string, string]>([
    ['a call after the end', `${said('Hi.')}${stop}${callChunk('echo', '{"word":"late"}')}${done}`, 'Done.'],
    ['a call that says it stops', `${callChunk('echo', '{"word":"x"}')}${stop}${done}`, 'Done.'],
    ['an end by calls without a call', `${said('Hi.')}${ended}`, 'Hi.'],
    ['an empty answer, asked for again', `${stop}${done}`, 'Done.'],
    ['blank text, asked for again', `${said(' \n ')}${stop}${done}`, ' \n Done.'],
    ['a refusal', `${chunk({ refusal: 'I will not.' })}${stop}${done}`, 'I will not.'],
    ['content that was filtered', `${said('I w')}${chunk({}, 'content_filter')}${done}`, 'I w'],
    [
      'reasoning of three megabytes',
      `${chunk({ reasoning_content: 'r'.repeat(3_000_000) })}${whole('Hi.')}`,
      'Hi.',
    ],
    [
      'reasoning and nothing else, asked for again',
      `${chunk({ reasoning_content: 'hm' })}${stop}${done}`,
      'Done.',
    ],
    ['text of three megabytes', `${said('t'.repeat(3_000_000))}${stop}${done}`, 't'.repeat(3_000_000)],
    [
      'text with zero bytes and lone surrogates',
      `data: {"choices":[{"delta":{"content":"a\\u0000b\\ud800c"}}]}\n\n${stop}`,
      'a\0b\ud800c',
    ],
  ])('%s', async (_, body, text) => {
    const { result, again } = await answering(body)
    expect(result?.text).toBe(text)
    expect(again).toBe('Fine again.')
  })

  it('that are all empty are reported after a few', async () => {
    const { result, requests, events } = await answering(`${stop}${done}`, {}, () => `${stop}${done}`)
    expect(result?.text).toBe('')
    expect(requests).toBe(4)
    expect(ofType(events, 'notice')).toHaveLength(1)
  })

  it('that are cut off again and again are joined, up to a limit', async () => {
    const cut = (): string => `${said('la')}${chunk({}, 'length')}${done}`
    const { result, requests } = await answering(cut(), {}, cut)
    expect(result).toMatchObject({ text: 'lalalala', finish: 'length' })
    expect(requests).toBe(4)
  })

  it.each<[string, unknown]>([
    ['negative', { prompt_tokens: -5, completion_tokens: -7, total_tokens: -12 }],
    ['missing', undefined],
    ['null', null],
    ['text', { prompt_tokens: '12', completion_tokens: 'many' }],
    ['beyond counting', { prompt_tokens: 1e300, completion_tokens: 1e300 }],
    ['a list', []],
  ])('with a usage that is %s: tokens and cost are still numbers', async (_, usage) => {
    const { result } = await answering(`${said('Hi.')}${chunk({}, 'stop', { usage })}${done}`)
    for (const number of [...Object.values(result?.usage ?? {}), result?.costUsd ?? 0]) {
      expect(number).toBeGreaterThanOrEqual(0)
      expect(Number.isFinite(number)).toBe(true)
    }
  })
})
