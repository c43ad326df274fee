/**
 * FT-15: 27 tools that misbehave, called by a model in a session: each call has a valid envelope, the model reads
 * something it can act on, and the run continues to its end.
 */
import { describe, expect, it } from 'vitest'
import { scriptedModel } from '../../src/testing/index.js'
import type { AnyTool } from '../../src/tool/contract.js'
import { createJsonTool } from '../../src/tool/create-json-tool.js'
import { isEnvelope } from '../../src/tool/envelope.js'
import { later, ofType } from '../contract/open-session.js'
import { overlappingTests } from '../support/overlapping-tests.js'
import { expectWellFormed, outcomeOf, sessionWith } from './support.js'

const anything = { type: 'object' } as const

function misbehaving(
  execute: (args: unknown, context: { progress?(partial: unknown): void }) => unknown,
): AnyTool {
  return createJsonTool({ name: 'odd', description: 'Misbehaves.', parameters: anything, execute })
}

const cyclic: Record<string, unknown> = {}
cyclic['self'] = cyclic
const revoked = Proxy.revocable({}, {})
revoked.revoke()
const hostile = new Proxy(
  {},
  {
    get() {
      throw new Error('no getting')
    },
    ownKeys() {
      throw new Error('no keys')
    },
    has() {
      throw new Error('no asking')
    },
    getPrototypeOf() {
      throw new Error('no ancestors')
    },
  },
)

// biome-ignore-start lint/suspicious/noThenProperty: thenables are what is tested
describe('FT-15: a tool that', () => {
  it.each<[string, () => unknown]>([
    [
      'throws',
      () => {
        throw new Error('broken')
      },
    ],
    [
      'rejects',
      async () => {
        throw new Error('broken')
      },
    ],
    [
      'throws a string',
      () => {
        throw 'broken'
      },
    ],
    [
      'throws nothing',
      () => {
        throw undefined
      },
    ],
    [
      'throws a cyclic object',
      () => {
        throw cyclic
      },
    ],
    [
      'throws an error whose message throws',
      () => {
        throw Object.defineProperty(new Error(), 'message', {
          get() {
            throw new Error('gotcha')
          },
        })
      },
    ],
    [
      'throws a hostile proxy',
      () => {
        throw hostile
      },
    ],
    [
      'throws a revoked proxy',
      () => {
        throw revoked.proxy
      },
    ],
    ['returns nothing', () => undefined],
    ['returns null', () => null],
    ['returns a cyclic value', () => cyclic],
    ['returns a bigint', () => 12n],
    ['returns a bigint inside', () => ({ big: 12n })],
    ['returns a symbol', () => Symbol('odd')],
    ['returns a function', () => () => 1],
    [
      'returns getters that throw',
      () => ({
        get trap() {
          throw new Error('gotcha')
        },
      }),
    ],
    [
      'returns a toJSON that throws',
      () => ({
        toJSON() {
          throw new Error('gotcha')
        },
      }),
    ],
    ['returns a hostile proxy', () => hostile],
    ['returns a revoked proxy', () => revoked.proxy],
    [
      'returns a thenable that rejects',
      () => ({
        then(_: unknown, no: (why: unknown) => void) {
          no(new Error('broken'))
        },
      }),
    ],
    [
      'returns a thenable that throws',
      () => ({
        then() {
          throw new Error('broken')
        },
      }),
    ],
    [
      'returns a thenable that settles twice',
      () => ({
        then(yes: (value: unknown) => void, no: (why: unknown) => void) {
          yes('first')
          yes('second')
          no(new Error('third'))
        },
      }),
    ],
    ['returns 64 MB', () => 'x'.repeat(64 << 20)],
    ['returns 64 MB of bytes', () => new Uint8Array(64 << 20)],
    ['returns a million entries', () => Array.from({ length: 1_000_000 }, (_, at) => at)],
    [
      'returns a value a hundred thousand levels deep',
      () => {
        let deep: unknown = 1
        for (let n = 0; n < 100_000; n++) deep = [deep]
        return deep
      },
    ],
    [
      'returns what looks like an envelope and is none',
      () => ({ type: 'output', data: 1, metadata: { duration_ms: 'soon', output_path: '/etc/passwd' } }),
    ],
    [
      'returns an envelope whose metadata is cyclic',
      () => ({ type: 'output', data: 1, metadata: { duration_ms: 1, cyclic } }),
    ],
  ])('%s', async (_, execute) => {
    const model = scriptedModel([
      { toolCalls: [{ name: 'odd' }, { name: 'odd', args: { n: 2 } }] },
      'Fine.',
      'Again.',
    ])
    const { session } = await sessionWith(model, {
      builtinTools: false,
      tools: [misbehaving(execute)],
      permissionPolicy: { allow: ['odd'] },
    })
    const { result, events, thrown } = await outcomeOf(session)
    expect(thrown).toBeUndefined()
    expect(result).toMatchObject({ text: 'Fine.', toolCallsCount: 2 })
    for (const { toolOutput, metadata } of ofType(events, 'tool_end')) {
      expect(typeof toolOutput).toBe('string')
      // 200 KB, in JSON that may write a byte as six characters.
      expect(toolOutput.length).toBeLessThan(6 * 205_000)
      expect(metadata.duration_ms).toBeGreaterThanOrEqual(0)
      expect(metadata.output_path ?? '').not.toBe('/etc/passwd')
    }
    expectWellFormed(session)
    expect((await session.send('Again?')).text).toBe('Again.')
    // What a host gets by calling it directly is an envelope too.
    const { envelope } = await session.tool('odd')
    expect(isEnvelope(envelope)).toBe(true)
  })

  const overlapping = overlappingTests()
  const lateTools: readonly (readonly [string, (late: Promise<void>) => Promise<unknown>])[] = [
    ['never settles', () => new Promise(() => undefined)],
    ['rejects after its time', (late) => late.then(() => Promise.reject(new Error('late')))],
    ['resolves after its time', (late) => late.then(() => 'late')],
  ]
  for (const [does, execute] of lateTools)
    overlapping(`${does} is abandoned at its time-out, and what it returns later is dropped`, async () => {
      const isOver = later()
      const unhandled: unknown[] = []
      const note = (error: unknown): void => void unhandled.push(error)
      process.on('unhandledRejection', note)
      try {
        const model = scriptedModel([{ toolCalls: [{ name: 'odd' }] }, 'Fine.'])
        const { session } = await sessionWith(model, {
          builtinTools: false,
          tools: [misbehaving(() => execute(isOver.promise))],
          permissionPolicy: { allow: ['odd'] },
          toolTimeoutMs: 50,
        })
        const { result, events } = await outcomeOf(session)
        expect(result?.text).toBe('Fine.')
        expect(ofType(events, 'tool_end')[0]?.toolOutput).toContain('50 ms')
        isOver.resolve()
        // Node reports rejections before it calls what was set for the next turn of the event loop.
        for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve))
        expect(unhandled).toEqual([])
        expectWellFormed(session)
      } finally {
        process.off('unhandledRejection', note)
      }
    })

  overlapping(
    'never settles and ignores the signal is abandoned two seconds after an abort at the latest',
    async () => {
      const model = scriptedModel([{ toolCalls: [{ name: 'odd' }] }, 'Fine.'])
      const hasBegun = later()
      const neverSettles = (): Promise<never> => {
        hasBegun.resolve()
        return new Promise(() => undefined)
      }
      const { session } = await sessionWith(model, {
        builtinTools: false,
        tools: [misbehaving(neverSettles)],
        permissionPolicy: { allow: ['odd'] },
      })
      const stream = await session.stream('Go.')
      for await (const event of stream) {
        if (event.type !== 'tool_execution_start') continue
        await hasBegun.promise
        session.cancel()
      }
      expectWellFormed(session)
      expect((await session.send('Again?')).text).toBe('Fine.')
    },
  )

  it('reports more progress than a reader can handle does not slow the run down', async () => {
    const model = scriptedModel([{ toolCalls: [{ name: 'odd' }] }, 'Fine.'])
    const { session } = await sessionWith(model, {
      builtinTools: false,
      tools: [
        misbehaving((_, { progress }) => {
          for (let n = 0; n < 20_000; n++) progress?.(n % 3 === 0 ? cyclic : `line ${n}\n`)
          return 'done'
        }),
      ],
      permissionPolicy: { allow: ['odd'] },
      retentionLimits: { maxEventsPerRun: 100 },
    })
    const { result, events } = await outcomeOf(session)
    expect(result?.text).toBe('Fine.')
    expect(events.length).toBeLessThanOrEqual(100)
  })

  it.each<[string, AnyTool]>([
    [
      'cannot say what it is',
      {
        name: 'odd',
        definition: () => {
          throw new Error('no idea')
        },
        call: () => 1,
      },
    ],
    [
      'throws when asked what it touches',
      createJsonTool({
        name: 'odd',
        description: 'd',
        parameters: anything,
        touches: () => {
          throw new Error('no idea')
        },
        execute: () => 1,
      }),
    ],
    [
      'touches nonsense',
      createJsonTool({
        name: 'odd',
        description: 'd',
        parameters: anything,
        touches: () => [null, { fs: 'eat', path: 7 }] as never,
        execute: () => 1,
      }),
    ],
    [
      'has an approval policy that throws',
      createJsonTool({
        name: 'odd',
        description: 'd',
        parameters: anything,
        approval: {
          when: () => {
            throw new Error('no idea')
          },
        } as never,
        execute: () => 1,
      }),
    ],
  ])('%s never runs, and the session stays usable', async (_, tool) => {
    let ran = false
    const spied = {
      ...tool,
      call: () => {
        ran = true
      },
    } as AnyTool
    const model = scriptedModel((_request, n) => (n === 0 ? { toolCalls: [{ name: 'odd' }] } : 'Fine.'))
    const { session } = await sessionWith(model, {
      builtinTools: false,
      tools: [spied],
      permissionPolicy: { allow: ['odd'] },
    })
    await outcomeOf(session)
    expect(ran).toBe(false)
    expectWellFormed(session)
    expect(session.unregisterTool('odd')).toBe(true)
    expect((await session.send('Again?')).text).toBe('Fine.')
  })
})
// biome-ignore-end lint/suspicious/noThenProperty: thenables are what is tested
