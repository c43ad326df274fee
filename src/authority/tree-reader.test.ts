import { describe, expect, it } from 'vitest'
import { judge } from './judge.js'
import { compilePolicy, type PermissionPolicy } from './policy.js'
import { createRuleBook } from './rule-book.js'

const scope = { variables: { workspace: ['/ship'] } }
const verdict = (command: string, policy: PermissionPolicy): string =>
  judge(
    { tool: 'bash', subjects: [{ shell: { text: command } }] },
    createRuleBook({ ...compilePolicy(policy), scope }),
  ).verdict.action

const guarded: PermissionPolicy = {
  allow: ['bash(grep *)', 'bash(rg *)', 'bash(cat *)', 'bash(cp *)', 'bash(tar *)', 'bash(git *)'],
  deny: ['read(**/.env*)'],
}

describe('SEC-110 commands that read whole directories', () => {
  it.each([
    'grep -rn SECRET .',
    'grep -R SECRET',
    'grep --recursive SECRET src',
    'rg SECRET',
    'cp -r . out',
    'cp -a src out',
    'tar cf a.tar .',
    'git add .',
    'git grep SECRET',
  ])('%s is asked about where rules deny reading files', (command) => {
    expect(verdict(command, guarded)).not.toBe('allow')
  })

  it.each(['grep -n TODO src/a.ts', 'cat src/a.ts', 'cp a b', 'git status', 'git log -3'])(
    '%s is not asked about',
    (command) => {
      expect(verdict(command, guarded)).not.toBe('deny')
      expect(verdict(command, { ...guarded, allow: [...(guarded.allow ?? []), 'write(*)'] })).toBe('allow')
    },
  )

  it.each(['grep -rn TODO .', 'rg TODO', 'git grep TODO'])(
    '%s is allowed where no rule denies reading',
    (command) => {
      expect(verdict(command, { ...guarded, deny: ['write(**/.env*)'] })).toBe('allow')
    },
  )
})
