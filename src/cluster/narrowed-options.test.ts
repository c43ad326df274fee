import { describe, expect, it } from 'vitest'
import type { SessionOptions } from '../session/options.js'
import type { JsonObject } from '../tool/json.js'
import { narrowedOptions } from './narrowed-options.js'

const everything = { fs: { read: ['/**'], write: ['/**'] }, shell: [{ cmd: '*' }], capabilities: ['*'] }

describe('the options of a submission', () => {
  it.each<[string, SessionOptions, JsonObject, SessionOptions]>([
    ['a mode', { mode: 'full' }, { mode: 'read-only' }, { mode: 'read-only' }],
    ['denies', { permissionPolicy: { allow: ['bash'] } }, { permissionPolicy: { deny: ['bash'] } }, {}],
    ['the denies of a manifest', {}, { manifest: { permissions: { deny: ['bash'] } } }, {}],
    ['a lower limit', { maxToolRounds: 9 }, { maxToolRounds: 3 }, { maxToolRounds: 3 }],
    ['fewer tools', { builtinTools: ['read', 'ls'] }, { builtinTools: ['ls'] }, { builtinTools: ['ls'] }],
    ['a sandbox', { sandbox: 'off' }, { sandbox: 'bubblewrap' }, { sandbox: 'required' }],
    ['a ceiling', {}, { ceiling: {} }, { ceiling: {} }],
    ['what the worker does not set', {}, { role: 'a pilot' }, { role: 'a pilot' }],
  ])('restrict the worker with %s', (_, own, asked, expected) => {
    const options = narrowedOptions(own, asked)
    expect(options).toMatchObject(expected)
    if ('permissionPolicy' in asked || 'manifest' in asked)
      expect(options.permissionPolicy).toMatchObject({ allow: [], deny: ['bash'] })
  })

  it.each<[string, SessionOptions, JsonObject]>([
    ['mode', { mode: 'plan' }, { mode: 'read-only' }],
    ['mode', {}, { mode: 'full' }],
    ['rules', {}, { permissionPolicy: { allow: ['bash'], defaultDecision: 'allow' } }],
    ['manifest', { manifest: { permissions: { deny: ['bash'] } } }, { manifest: { permissions: {} } }],
    ['limits', { maxToolRounds: 9, toolTimeoutMs: 5 }, { maxToolRounds: 10, toolTimeoutMs: 6 }],
    ['tools', { builtinTools: false }, { builtinTools: ['bash'] }],
    ['tools', { builtinTools: ['read'] }, { builtinTools: ['bash'] }],
    ['sandbox', { sandbox: 'bubblewrap' }, { sandbox: 'landlock' }],
    ['sandbox', { sandbox: 'required' }, { sandbox: 'off' }],
    ['model', { model: 'local/small' }, { model: 'local/large' }],
    ['model', {}, { model: 'local/large' }],
    ['answers', { maxTokens: 100 }, { maxTokens: 100_000, thinkingBudget: 0 }],
    ['memory', {}, { retentionLimits: { maxRuns: null } }],
    ['prompt', { role: 'a pilot', guidelines: 'Ask first.' }, { role: 'a pirate', guidelines: 'Never ask.' }],
    ['checks', { verify: { commands: [{ id: 'a', command: 'make test' }] } }, { verify: { commands: [] } }],
    ['network', {}, { network: { allowHosts: ['*'] }, roots: ['/'], confirmationPolicy: { enabled: false } }],
  ])('do not widen the %s of the worker', (_, own, asked) => {
    const { permissionPolicy, ...options } = narrowedOptions(own, asked)
    const { thinkingBudget: __, builtinTools, ...rest } = options
    const { builtinTools: ownTools, ...given } = own
    expect(rest).toEqual(given)
    expect(permissionPolicy).toEqual({ allow: [], ask: [], deny: [] })
    if (ownTools !== undefined) expect(builtinTools || []).toEqual([])
  })

  it('are rejected when they have a ceiling and the worker has one too: two ceilings cannot be combined', () => {
    expect(() => narrowedOptions({ ceiling: {} }, { ceiling: everything })).toThrow(
      expect.objectContaining({ code: 'submission_invalid' }),
    )
    expect(narrowedOptions({ ceiling: {} }, {}).ceiling).toEqual({})
  })
})
