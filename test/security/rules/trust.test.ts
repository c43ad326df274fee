import { describe, expect, it } from 'vitest'
import {
  compilePolicy,
  createRuleBook,
  judge,
  loadProjectRules,
  parseProjectRules,
  type Rule,
} from '../../../src/authority/index.js'
import { bash, scope } from './p0.js'

const load = (text: string, root = '/abs/W', confirmations: ReadonlySet<string> = new Set()) =>
  loadProjectRules(text, { root, scope, confirmations })
const act = (rules: readonly Rule[], text: string) =>
  judge(bash(text), createRuleBook({ scope, rules })).verdict.action

describe('rules found in a repository', () => {
  it('SEC-139 allow nothing before a user has confirmed them, and restrict at once', async () => {
    const { rules } = await load('allow bash\nallow *\ndeny bash(curl *)\nask bash(ls *)\n')
    expect(act(rules, 'npm test')).toBe('ask')
    expect(act(rules, 'curl x')).toBe('deny')
    const own: Rule[] = [{ permission: 'bash', pattern: '*', action: 'allow', source: 'session' }]
    expect(act([...own, ...rules], 'npm test')).toBe('allow')
    expect(act([...own, ...rules], 'ls a')).toBe('ask')
  })

  it.each([
    'trusted: true',
    'mode bypass',
    'defaultDecision: allow',
    'enabled: false',
    'allow bash\n  untrusted false',
    'allow bash\n  pinned true',
    'allow bash\n  source manifest',
  ])('SEC-140 %j cannot be set there', (text) => {
    expect(() => parseProjectRules(text, scope)).toThrow()
  })

  it('SEC-140 an unconfirmed ask does not soften a deny', async () => {
    const { rules } = await load('ask bash(git push)\n')
    const own: Rule[] = [{ permission: 'bash', pattern: 'git *', action: 'deny', source: 'session' }]
    expect(act([...own, ...rules], 'git push')).toBe('deny')
  })

  it('SEC-140 a policy that is not enabled has no effect', () => {
    expect(compilePolicy({ enabled: false, allow: ['*'], defaultDecision: 'allow' })).toMatchObject({
      rules: [],
      defaultDecision: 'ask',
    })
  })

  it('SEC-141, SEC-145 are confirmed for one real directory, not for directories inside it or links to it', async () => {
    const text = 'allow bash(npm test)\n'
    const { confirmation } = await load(text, '/abs/W')
    expect((await load(text, '/abs/W', new Set([confirmation]))).confirmed).toBe(true)
    expect((await load(text, '/abs/W/vendor/repo', new Set([confirmation]))).confirmed).toBe(false)
    expect((await load(text, '/abs', new Set([confirmation]))).confirmed).toBe(false)
  })

  it('SEC-144 must be confirmed again after any change', async () => {
    const text = 'allow bash(npm test)\n'
    const { confirmation } = await load(text)
    const confirmations = new Set([confirmation])
    const confirmed = await load(text, '/abs/W', confirmations)
    expect(act(confirmed.rules, 'npm test')).toBe('allow')
    for (const changed of ['allow bash(npm test *)\n', `${text}\n`, text.trim()]) {
      const again = await load(changed, '/abs/W', confirmations)
      expect(again.confirmed).toBe(false)
      expect(act(again.rules, 'npm test')).toBe('ask')
    }
  })
})
