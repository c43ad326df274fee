import { describe, expect, it } from 'vitest'
import {
  approvalNotes,
  compilePolicy,
  createRuleBook,
  expandCall,
  readableResults,
} from '../../../src/authority/index.js'
import { bash, decision, read, scope, write } from './p0.js'

const everything = { allow: ['write(**)', 'write(*)', 'edit(*)', 'bash', 'fs.write(/**)', '*'] }

describe('files that are executed automatically or decide what is allowed', () => {
  it.each(['.git/hooks/pre-commit', '.git/config', '.git/info/attributes', 'sub/.git/hooks/x', '.git'])(
    'SEC-015 writing %s is asked about whatever is allowed',
    (path) => {
      expect(decision(write(path), everything)).toBe('ask')
      expect(decision(write(path, 'mcp__fs__put'), everything)).toBe('ask')
      expect(decision(bash(`cp a ${path}`), everything)).toBe('ask')
      expect(decision(bash(`echo x >> ${path}`), everything)).toBe('ask')
    },
  )

  it.each([
    '.GIT/hooks/x',
    './.git//hooks/x',
    'sub/../.git/hooks/x',
    '.git./hooks/x',
    '.Git /config',
    'GIT~1/config',
    '.g\u200dit/config',
    '/abs/W/.gIt/hooks/x',
  ])('SEC-016 writing %j is asked about too', (path) => {
    expect(decision(write(path), everything)).toBe('ask')
  })

  it.each([
    '.capstan/rules',
    '.capstan/sessions/x.jsonl',
    '.mcp.json',
    'sub/.capstan/hooks/x',
    '.CAPSTAN/rules',
    '.Mcp.JSON',
    './a/../.capstan/x',
    '.capstan./rules',
    'CAPSTA~1/rules',
  ])('SEC-018, SEC-019 writing %j is denied whatever is allowed, also when it does not exist yet', (path) => {
    expect(decision(write(path), everything)).toBe('deny')
    expect(decision(write(path, 'edit'), everything)).toBe('deny')
    expect(decision(bash(`echo x > '${path}'`), everything)).toBe('deny')
  })

  it('SEC-018 no rule of a session or project overrides that', () => {
    const rules = [
      {
        permission: 'write',
        pattern: '.capstan/rules',
        action: 'allow',
        source: 'session',
        added_at: 9,
      } as const,
      { permission: 'fs.write', pattern: '**', action: 'allow', source: 'project' } as const,
    ]
    expect(decision(write('.capstan/rules'), everything, { rules })).toBe('deny')
    expect(decision(read('.capstan/rules'), everything)).toBe('allow')
  })

  it.each([
    'mv .capstan x',
    'mv .capstan x; mkdir .capstan',
    'rm -r .capstan',
    'rmdir .capstan',
    'mv x .capstan',
  ])('SEC-020 %s is denied', (text) => {
    expect(decision(bash(text), everything)).toBe('deny')
  })

  it('SEC-020 renaming the parent through a file tool is denied', () => {
    expect(
      decision(
        {
          tool: 'move',
          subjects: [
            { fs: 'write', path: '.capstan' },
            { fs: 'write', path: 'x' },
          ],
        },
        everything,
      ),
    ).toBe('deny')
  })

  it.each([
    '.envrc',
    '.npmrc',
    '.yarnrc.yml',
    '.vscode/tasks.json',
    '.idea/x.xml',
    '.husky/pre-commit',
    'sub/.npmrc',
    '.agents/skills/x/SKILL.md',
    '.claude/skills/x.md',
    'sub/.claude/agents/x.md',
    '.agents/agents/x.yaml',
    '.claude/settings.json',
    'sub/.claude/settings.local.json',
    '.cursor/mcp.json',
    '.codex/config.toml',
    '.gemini/settings.json',
    '.yarnrc',
  ])('SEC-021 writing %s is at least asked about', (path) => {
    expect(decision(write(path), everything)).toBe('ask')
  })

  it.each([
    'package.json',
    '.gitattributes',
    '.gitmodules',
    'Makefile',
    'a/Makefile',
    '.pnpmfile.cjs',
    '.devcontainer/x',
  ])('SEC-021 the approval states what %s can do', (path) => {
    expect(approvalNotes(expandCall(write(path), scope))).toHaveLength(1)
    expect(approvalNotes(expandCall(read(path), scope))).toEqual([])
  })

  it('SEC-025 read denies apply to the results of a search, and to its start', () => {
    const { rules } = compilePolicy({ deny: ['read(**/.env*)'], allow: ['grep(*)', 'glob(*)'] })
    const book = createRuleBook({ scope, rules })
    const readable = readableResults(book, read('.', 'grep'))
    expect(['/abs/W/.env', '/abs/W/a/.env.local', '/abs/W/.env.d/x', '/abs/W/a.ts'].filter(readable)).toEqual(
      ['/abs/W/a.ts'],
    )
    expect(decision(read('.env.d', 'glob'), { deny: ['read(**/.env*)'], allow: ['glob(*)'] })).toBe('deny')
  })
})
