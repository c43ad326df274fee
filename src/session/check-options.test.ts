import { describe, expect, it } from 'vitest'
import { createJsonTool } from '../tool/create-json-tool.js'
import { ToolSet } from '../tool/tool-set.js'
import { checkOptions } from './check-options.js'
import { SessionOptionError } from './errors.js'

const problem = (options: Readonly<Record<string, unknown>>): SessionOptionError => {
  try {
    checkOptions(options)
  } catch (error) {
    if (error instanceof SessionOptionError) return error
    throw error
  }
  throw new Error(`nothing was said against ${Object.keys(options)}`)
}

describe('options of a session', () => {
  it('are returned unchanged when they are valid, and undefined ones are removed', () => {
    const onAsk = () => ({ decision: 'once' })
    const given = { maxToolRounds: 3, onAsk, role: 'r', sandbox: 'off', temperature: 0 }
    expect(checkOptions({ ...given, tools: undefined, model: null })).toEqual({
      options: given,
      warnings: [],
    })
  })

  it.each<[string, unknown, RegExp]>([
    ['maxToolRounds', '5', /maxToolRounds must be a whole number of at least 0/],
    ['maxToolRounds', 1.5, /not 1\.5/],
    ['maxToolRounds', -1, /at least 0/],
    ['maxExecutionTimeMs', Number.POSITIVE_INFINITY, /whole number/],
    ['duplicateToolCallThreshold', 0, /at least 1/],
    ['temperature', Number.NaN, /from 0 to 2/],
    ['temperature', 2.1, /from 0 to 2/],
    ['sandbox', 'on', /Invalid sandbox 'on'\. Must be one of: auto, required, off/],
    ['mode', 'yolo', /Must be one of/],
    ['onAsk', true, /onAsk must be a function/],
    ['planningMode', 'maybe', /Invalid planningMode 'maybe'/],
    ['sessionId', '../x', /without "\/"/],
    ['sessionId', '..', /characters/],
    ['sessionId', '', /1 to 200/],
    ['permissionPolicy', [], /must be an object/],
    ['permissionPolicy', { allow: ['bash('] }, /permissionPolicy: /],
    ['confirmationPolicy', { enabld: true }, /confirmationPolicy\.enabld is not known\. Known are: enabled/],
    ['confirmationPolicy', { defaultTimeoutMs: 0 }, /confirmationPolicy\.defaultTimeoutMs must be a whole/],
    ['confirmationPolicy', { yoloLanes: ['fast'] }, /confirmationPolicy\.yoloLanes 'fast'/],
    ['confirmationPolicy', { constructor: 1 }, /confirmationPolicy\.constructor is not known/],
    ['network', { allowPrivate: 'yes' }, /network\.allowPrivate/],
    ['tools', [{}], /tools\[0\] is not a tool/],
    ['tools', { name: 'x' }, /list of tools or a ToolSet/],
    ['builtinTools', ['raed'], /builtinTools\[0\] is 'raed'.*Did you mean.*read/],
    ['builtinTools', true, /list of names, or false/],
    ['hooks', [{ id: 'a', event: 'no_such_event' }], /hooks\[0\]/],
    ['commands', [{ name: 'a b', description: '', handler: () => '' }], /commands\[0\]/],
    ['budgetGuard', { checkBeforeLlm: 1 }, /budgetGuard\.checkBeforeLlm must be a function/],
    ['hostEnv', { clock: {} }, /hostEnv\.clock must have the method now\(\)/],
    ['retentionLimits', { maxRuns: 0 }, /retentionLimits\.maxRuns must be a whole number/],
    ['retentionLimits', { maxRuns: Number.NaN }, /retentionLimits\.maxRuns must be a whole number/],
    ['retentionLimits', { maxTraceEvents: -1 }, /retentionLimits\.maxTraceEvents/],
    ['retentionLimits', { maxTraceEvents: Number.NEGATIVE_INFINITY }, /retentionLimits\.maxTraceEvents/],
    ['retentionLimits', { maxEventsPerRun: 'all' }, /retentionLimits\.maxEventsPerRun/],
    ['stopWhen', [1], /stopWhen\[0\] must be a function/],
    ['signal', {}, /AbortSignal/],
    ['env', { PORT: 80 }, /env\.PORT must be a string/],
    ['instructionFiles', true, /instructionFiles/],
  ])('are rejected by name: %s %j', (name, value, words) => {
    const error = problem({ [name]: value })
    expect(error.option).toBe(name)
    expect(error.code).toBe('session_option')
    expect(error.message).toMatch(words)
    expect(error.message).not.toContain('%')
  })

  it.each([
    ['role', 5],
    ['maxTokens', 'hunter2hunter2'],
    ['onAsk', 'hunter2hunter2'],
    ['tools', 'hunter2hunter2'],
    ['env', { PIN: 123_456 }],
  ])('are rejected without showing a text that may be a secret: %s', (name, value) => {
    expect(problem({ [name]: value }).message).not.toMatch(/hunter2|123456/)
  })

  it('that are unknown are reported with the nearest name, and have no effect', () => {
    const { options, warnings } = checkOptions({ maxToolRound: 1, remoteGit: {}, zzz: 1 })
    expect(options).toEqual({})
    expect(warnings).toHaveLength(3)
    expect(warnings[0]).toMatch(/maxToolRound is not known.*maxToolRounds/)
    expect(warnings[2]).toMatch(/zzz is not known/)
  })

  it('with a rule for a tool that does not exist are reported, because such a rule protects nothing', () => {
    const policy = { deny: ['bsh(rm *)', 'Bash(rm *)', 'mcp__x', 'fs.write', '*'], allow: ['mine'] }
    expect(checkOptions({ permissionPolicy: policy }).warnings).toEqual([
      expect.stringMatching(/"bsh\(rm \*\)" is for a tool that does not exist.*"bash"/),
      expect.stringMatching(/"mine" is for a tool/),
    ])
    const mine = createJsonTool({ name: 'mine', description: '', parameters: {}, execute: () => 1 })
    expect(checkOptions({ permissionPolicy: { allow: ['mine'] }, tools: [mine] }).warnings).toEqual([])
  })

  it.each(['constructor', 'toString', '__proto__', 'hasOwnProperty'])(
    'that only look like known ones are not accepted: %s',
    (name) => {
      const given = Object.defineProperty({}, name, { value: { a: 1 }, enumerable: true })
      const { options, warnings } = checkOptions(given)
      expect(Object.keys(options)).toEqual([])
      expect(warnings).toHaveLength(1)
    },
  )

  it.each([
    [{ planningMode: 'ON' }, 'enabled'],
    [{ planningMode: 'forced' }, 'enabled'],
    [{ planningMode: 'off' }, 'disabled'],
    [{ planningMode: 'Auto' }, 'auto'],
    [{ planning: true }, 'enabled'],
    [{ planning: false }, 'disabled'],
    [{ planning: true, planningMode: 'disabled' }, 'disabled'],
  ])('turn planning on in several equivalent forms: %j', (given, mode) => {
    expect(checkOptions(given).options.planningMode).toBe(mode)
  })

  it('accept tools as a list or a set, and a guard of the host with additional members', () => {
    const tool = createJsonTool({
      name: 'x',
      description: 'x',
      parameters: { type: 'object' },
      execute: () => 1,
    })
    class Guard {
      checkBeforeLlm(): undefined {
        return undefined
      }
      readonly own = new Map()
    }
    for (const tools of [[tool], ToolSet.fromTools([tool])])
      expect(() => checkOptions({ tools, budgetGuard: new Guard() })).not.toThrow()
  })
})
