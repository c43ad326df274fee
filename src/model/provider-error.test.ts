import { describe, expect, it } from 'vitest'
import { connectionError, refusalError } from './provider-error.js'

const place = { provider: 'acme', id: 'm', url: 'https://models.test/v1?key=abc', secrets: ['topsecret'] }
const thrown = (code: string): Error =>
  new TypeError('fetch failed', { cause: Object.assign(new Error(`it was ${code}`), { code }) })

describe('a connection that', () => {
  it.each([
    ['was refused', 'ECONNREFUSED', 'model_unreachable', false],
    ['has no address', 'ENOTFOUND', 'model_unreachable', false],
    ['has no address now', 'EAI_AGAIN', 'model_unreachable', false],
    ['has a bad certificate', 'CERT_HAS_EXPIRED', 'model_unreachable', false],
    ['was not made in time', 'UND_ERR_CONNECT_TIMEOUT', 'model_unreachable', true],
    ['has no network', 'ENETUNREACH', 'model_unreachable', true],
    ['was reset', 'ECONNRESET', 'model_unreachable', true],
    ['was closed', 'UND_ERR_SOCKET', 'model_unreachable', true],
    ['stayed silent', 'UND_ERR_HEADERS_TIMEOUT', 'model_stalled', true],
  ])('%s is named, and retried only where that helps', (_, cause, code, retryable) => {
    const error = connectionError(place, thrown(cause), false)
    expect(error).toMatchObject({ code, retryable, emitted: false })
    expect(error.message).toContain(cause)
    expect(error.message).toContain('models.test')
    expect(error.message).not.toContain('abc')
    expect(connectionError(place, thrown(cause), true)).toMatchObject({ retryable, emitted: true })
  })

  it('failed at every address is named by the first', () => {
    const all = new TypeError('fetch failed', {
      cause: new AggregateError([Object.assign(new Error('connect refused'), { code: 'ECONNREFUSED' })]),
    })
    expect(connectionError(place, all, false).message).toContain('ECONNREFUSED')
  })
})

describe('a request that is too long is recognised by the message', () => {
  it.each([
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
    'Input is too long for requested model.',
    'prompt is too long: 210000 tokens > 200000 maximum',
    'the request exceeds the available context size, try increasing it',
    'Please reduce the length of the messages or completion.',
    'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
    'Invalid request: Your request exceeded model token limit: 131072',
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    'Your input exceeds the context window of this model.',
  ])('%s', (message) => {
    const body = JSON.stringify({ error: { message } })
    expect(refusalError(place, { status: 400, body }).code).toBe('model_context_overflow')
  })

  it('but a limited rate of tokens is not one', () => {
    const body = '{"error":{"message":"Too many tokens per minute"}}'
    expect(refusalError(place, { status: 429, body })).toMatchObject({
      code: 'model_rate_limited',
      retryable: true,
    })
  })
})

describe('the error of a provider', () => {
  it.each([
    ['{"error":{"message":"a topsecret b"}}', 'a [key] b'],
    ['{"error":{"message":"Incorrect key sk-abcd***********wxyz"}}', 'Incorrect key [key]'],
    ['[{"error":{"message":"in a list"}}]', 'in a list'],
    ['{"detail":"plain detail"}', 'plain detail'],
    ['plain\n  text', 'plain text'],
  ])('as %s is quoted as %s', (body, quote) => {
    expect(refusalError(place, { status: 400, body }).message.endsWith(`: ${quote}`)).toBe(true)
  })
})
