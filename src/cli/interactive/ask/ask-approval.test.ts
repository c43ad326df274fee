import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { toolboxWorkspace } from '../../../../test/toolbox/workspace.js'
import type { AskRequest } from '../../../loop/ask.js'
import { dryRun } from '../../../session/history/dry-run.js'
import { editTool, patchTool, writeTool } from '../../../toolbox/index.js'
import { colorsFor } from '../../terminal/colors.js'
import type { Prompter } from '../prompter.js'
import { askApproval } from './ask-approval.js'

const colors = colorsFor(
  { env: { NO_COLOR: '1' }, isTTY: { stdin: true, stdout: true, stderr: true } },
  'stdout',
)
describe('the preview of a call', () => {
  const files = { 'a.txt': 'one\r\ntwo\r\nthree\r\n', 'b.txt': 'old\n' }
  it.each([
    { tool: editTool, args: { file_path: 'a.txt', old_string: 'two\nthree', new_string: 'deux\ntrois' } },
    { tool: writeTool, args: { file_path: 'new/c.txt', content: 'hello\n' } },
    { tool: writeTool, args: { file_path: 'b.txt', content: 'new\n' } },
    { tool: patchTool, args: { diff: '--- a/b.txt\n+++ b/b.txt\n@@ -1 +1,2 @@\n-old\n+new\n+more\n' } },
    { tool: patchTool, args: { diff: '--- a/b.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-old\n' } },
  ])('shows the changes without making them: $tool.name', async ({ tool, args }) => {
    const { root, call } = await toolboxWorkspace(files)
    const preview = await dryRun(tool.name, args, root)
    expect(preview).toHaveProperty('diffs')
    for (const [path, content] of Object.entries(files))
      expect(readFileSync(join(root, path), 'utf8')).toBe(content)
    const diffs = preview !== undefined && 'diffs' in preview ? preview.diffs : []
    expect(await call(tool, args)).toMatchObject({ type: 'output' })
    for (const diff of diffs) {
      const added = diff
        .split('\n')
        .filter((line) => line.startsWith('+'))
        .map((line) => line.slice(1).replace('\r', ''))
      const path = /^(\S+)/.exec(diff)?.[1] ?? ''
      if (!diff.includes('(removed)'))
        for (const line of added) expect(readFileSync(join(root, path), 'utf8')).toContain(line)
    }
  })

  it('shows why the call would fail', async () => {
    const { root } = await toolboxWorkspace(files)
    const preview = await dryRun('edit', { file_path: 'a.txt', old_string: 'nowhere', new_string: 'x' }, root)
    expect(preview).toMatchObject({ whyNot: expect.stringContaining('old_string not found in a.txt') })
    expect(await dryRun('bash', { command: 'true' }, root)).toBeUndefined()
  })

  it('reads no file outside the workspace', async () => {
    const { root } = await toolboxWorkspace(files)
    const preview = await dryRun('write', { file_path: '../../../etc/passwd', content: 'x' }, root)
    expect(JSON.stringify(preview)).not.toContain('root:')
  })
})

describe('a user who is asked for approval', () => {
  const bash = (command: string): AskRequest => ({
    id: 'a',
    key: 'k',
    toolName: 'bash',
    args: { command, timeout: 5 },
    subjects: [{ shell: { text: command } }],
    reasons: ['no rule covers running "x"'],
    rules: [],
    notes: ['it runs by itself later'],
  })

  /** A user who presses one key, and what the user was shown. */
  function userPressing(answer: string, words?: string) {
    const titles: string[] = []
    const wholes: string[] = []
    const shown: string[] = []
    const offered: string[] = []
    const prompter: Prompter = {
      leavesQuestion: true,
      print: (lines) => void shown.push(...lines),
      choose: async ({ title, choices, about, whole }) => {
        shown.push(...(about?.(80, 60) ?? []))
        titles.push(title)
        wholes.push((whole?.(80) ?? []).join('\n'))
        offered.push(...choices.map(({ key }) => key))
        const chosen = choices.findIndex(({ key }) => key === answer)
        return chosen < 0 ? undefined : chosen
      },
      askLine: async () => words,
    }
    return { prompter, shown, offered, titles, wholes }
  }
  const ask = async (request: AskRequest, answer: string, words?: string) => {
    const { prompter, shown, offered, titles, wholes } = userPressing(answer, words)
    return {
      answer: await askApproval(request, prompter, { root: '/', colors, columns: 80 }),
      shown: shown.join('\n'),
      offered,
      title: titles.join('\n'),
      whole: wholes.join('\n'),
    }
  }

  it('sees every part of a command, its size and its other arguments', async () => {
    const { shown } = await ask(bash('cd src && rm -rf "$(cat list)" | tee log'), 'n')
    expect(shown).toContain('$ cd src && rm -rf "$(cat list)" | tee log')
    for (const part of ['· cat list', '· tee log', 'timeout: 5', 'note: it runs by itself later'])
      expect(shown).toContain(part)
  })

  it.each([
    [bash('rm -rf src'), 'Run "rm -rf src"?'],
    [bash('cat > x <<E\none\nE'), 'Run "cat > x <<E one E" (3 lines)?'],
    [bash('echo \u202e\u001b[2J'), 'Run "echo \\u202e\\x1b[2J"?'],
    [
      {
        ...bash(''),
        toolName: 'edit',
        args: { file_path: 'a.txt' },
        subjects: [{ fs: 'write', path: 'a.txt' }],
      },
      'Edit "a.txt"?',
    ],
    [
      {
        ...bash(''),
        toolName: 'web_fetch',
        args: { url: 'https://a.example/x' },
        subjects: [],
        run: { agentId: 'explore', runId: 'r' },
      },
      'Call web_fetch "https://a.example/x" for the agent explore?',
    ],
  ] satisfies [AskRequest, string][])(
    'is asked by a question that names its call: %#',
    async (request, title) => {
      expect((await ask(request, 'n')).title).toBe(title)
    },
  )

  it('can view a whole here-document, with long lines and control characters', async () => {
    const lines = Array.from({ length: 500 }, (_, at) => `line ${at}`)
    const long = `${'a'.repeat(3_000)}HIDDEN${'b'.repeat(3_000)}`
    const command = `cat > x <<E\n${lines.join('\n')}\n${long}\n\u001b]0;x\u0007${' '.repeat(50)}end\nE`
    const { whole, shown } = await ask(bash(command), 'n')
    expect(shown).toMatch(/⟨\d+ more lines: press v⟩/)
    for (const line of lines) expect(whole).toContain(`${line}\n`)
    expect(whole.replaceAll('\n', '')).toContain(long)
    expect(whole).toContain(`\\x1b]0;x\\x07${' '.repeat(50)}end`)
    for (const line of whole.split('\n')) expect(line.length).toBeLessThanOrEqual(80)
  })

  it.each([
    ['blanks', `echo ok${' '.repeat(10_000)}; rm -rf /`, '⟨10000 spaces⟩'],
    ['empty lines', `echo ok${'\n'.repeat(5_000)}rm -rf /`, '⟨4999 empty lines⟩'],
    ['lines', `cat <<E\n${'x\n'.repeat(3_000)}E\nrm -rf /`, 'more lines: press v⟩'],
    ['a letter that looks like another', 'curl https://g\u043e\u043egle.example; rm -rf /', 'о (U+043E)'],
    ['a turn of direction', 'echo \u202e; rm -rf /', '\\u202e'],
    ['a carriage return', 'rm -rf / #\r echo ok; rm -rf /', '\\r'],
  ])('cannot be deceived by %s', async (_, command, expected) => {
    const { shown } = await ask(bash(command), 'n')
    expect(shown).toContain(expected)
    expect(shown).toContain('rm -rf /')
    expect(shown.split('\n').length).toBeLessThan(80)
    if (command.length > 300) expect(shown).toMatch(/\d+ lines?, \d+ bytes/)
  })

  it('is offered a lasting approval only with the rules that it adds', async () => {
    expect((await ask(bash('ls'), 'n')).offered).toEqual(['y', 'n', 'm'])
    const suggestion = [{ permission: 'bash', pattern: 'ls', action: 'allow', source: 'project' }] as const
    const { offered, answer, shown } = await ask({ ...bash('ls'), suggestion }, 'a')
    expect(offered).toEqual(['y', 's', 'a', 'n', 'm'])
    expect(answer).toEqual({ decision: 'always' })
    expect(shown).toContain('yes, always in this project: bash(ls)')
  })

  it('sees a long rule in full, and is not offered a rule that is too long to show', async () => {
    const rule = (pattern: string) =>
      [{ permission: 'bash', pattern, action: 'allow', source: 'project' }] as const
    const long = `npm run deploy -- ${'--target=harbour '.repeat(20)}--force`
    const { shown, offered } = await ask({ ...bash(long), suggestion: rule(long) }, 's')
    expect(offered).toEqual(['y', 's', 'a', 'n', 'm'])
    expect(shown.replace(/\n +/g, ' ')).toContain(`"s" and "a" add the rule: bash(${long})`)
    expect(shown).toContain('→ yes, in this session, with the rule above')
    expect((await ask({ ...bash('x'), suggestion: rule('x'.repeat(1_100)) }, 'n')).offered).toEqual([
      'y',
      'n',
      'm',
    ])
  })

  it('sees one line for all commands that no rule covers', async () => {
    const uncoveredCommands = ['no rule covers running "a"', 'no rule covers running "b"']
    const reasons = [...uncoveredCommands, 'no rule covers writing "/w/x"']
    const { shown } = await ask({ ...bash('a && b > x'), reasons, uncoveredCommands }, 'n')
    expect(shown).toContain('no rule covers 2 of these commands\n  no rule covers writing "/w/x"\n')
  })

  it('rejects the call with anything but an explicit yes', async () => {
    for (const key of ['n', 'escape', 'x'])
      expect((await ask(bash('ls'), key)).answer).toEqual({ decision: 'reject' })
    expect((await ask(bash('ls'), 'm', 'use git')).answer).toEqual({
      decision: 'reject',
      message: 'use git',
    })
  })
})
