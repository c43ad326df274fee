import { symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { PermissionPolicy } from '../../../src/authority/policy.js'
import type { SessionOptions } from '../../../src/session/options.js'
import {
  bash,
  calls,
  openSession,
  type Script,
  toolResults,
  writeFiles,
} from '../../contract/open-session.js'
import { byPrompt, call } from '../../contract/subagents.js'

const limit = 120_000

const files = {
  'docs/a.md': 'the word marmalade is public\n',
  'docs/deep/b.md': 'marmalade again\n',
  'src/secret.ts': 'export const marmalade = "hidden-text"\n',
  'notes.txt': 'marmalade hidden-text\n',
}
const onlyDocs: PermissionPolicy = { allow: ['read(docs/**)'], defaultDecision: 'deny' }

async function resultsOf(
  script: Script,
  policy: PermissionPolicy,
  more: SessionOptions = {},
): Promise<string[]> {
  const opened = await openSession(script, { permissionPolicy: policy, ...more }, files)
  await symlink('../src/secret.ts', join(opened.root, 'docs/link.md'))
  await opened.session.send('go')
  return toolResults(opened.server, opened.server.requests.length - 1)
}

describe('an explicit defaultDecision', { timeout: limit }, () => {
  it('allows the model to read the files that a rule allows', async () => {
    const [text] = await resultsOf([calls(['read', { file_path: 'docs/a.md' }]), 'done'], onlyDocs)
    expect(text).toContain('marmalade is public')
  })

  it.each<[string, string, Record<string, string>]>([
    ['read', 'read', { file_path: 'src/secret.ts' }],
    ['read through ..', 'read', { file_path: 'docs/../src/secret.ts' }],
    ['read through a link', 'read', { file_path: 'docs/link.md' }],
    ['a missing file next to it', 'read', { file_path: 'src/secre.ts' }],
    ['ls of the root', 'ls', {}],
    ['ls', 'ls', { path: 'src' }],
    ['grep in a directory', 'grep', { pattern: 'marmalade', path: 'src' }],
    ['grep in a file', 'grep', { pattern: 'marmalade', path: 'notes.txt' }],
    ['glob in a directory', 'glob', { pattern: '**', path: 'src' }],
    ['git log', 'git', { command: 'log' }],
    ['git diff', 'git', { command: 'diff' }],
    ['git status', 'git', { command: 'status' }],
    [
      'edit, which shows what it did not find',
      'edit',
      { file_path: 'notes.txt', old_string: 'x', new_string: 'y' },
    ],
    ['a program from a file', 'program', { path: 'src/secret.ts' }],
    ['a command', 'bash', { command: 'cat src/secret.ts' }],
  ])('refuses reading other files: %s', async (_, tool, args) => {
    const [text] = await resultsOf([calls([tool, args]), 'done'], onlyDocs)
    expect(text).toMatch(/Refused/)
    expect(text).toContain('permissionPolicy.defaultDecision')
    expect(text).not.toContain('hidden-text')
  })

  it('searches only the files that can be read, from any directory above them', async () => {
    const [grep, glob, count, list] = await resultsOf(
      [
        calls(
          ['grep', { pattern: 'marmalade' }],
          ['glob', { pattern: '**/*' }],
          ['grep', { pattern: 'marmalade', output_mode: 'count' }],
          ['grep', { pattern: 'hidden', output_mode: 'files_with_matches' }],
        ),
        'done',
      ],
      onlyDocs,
    )
    expect(grep).toContain('docs/a.md')
    expect(grep).toContain('docs/deep/b.md')
    expect(glob).toContain('docs/a.md')
    for (const text of [grep, glob, count, list]) expect(text).not.toMatch(/secret|notes|hidden-text|src\//)
  })

  it.each(['read(*)', 'fs.read(*)'])('allows reading again with the rule %s', async (rule) => {
    const [read, grep, list] = await resultsOf(
      [
        calls(
          ['read', { file_path: 'notes.txt' }],
          ['grep', { pattern: 'marmalade' }],
          ['ls', { path: 'src' }],
        ),
        'done',
      ],
      { allow: [rule], defaultDecision: 'deny' },
    )
    expect(read).toContain('hidden-text')
    expect(grep).toContain('src/secret.ts')
    expect(list).toContain('secret.ts')
  })

  it('asks about reading when it is "ask"', async () => {
    const asked: string[] = []
    const [text] = await resultsOf(
      [calls(['read', { file_path: 'notes.txt' }]), 'done'],
      { defaultDecision: 'ask' },
      {
        onAsk: ({ toolName, reasons }) => {
          asked.push(`${toolName}: ${reasons.join()}`)
          return { decision: 'once' }
        },
      },
    )
    expect(asked).toEqual([expect.stringMatching(/^read: no rule covers reading ".*notes\.txt"/)])
    expect(text).toContain('hidden-text')
  })

  it('applies to files that an allowed command names, and to commands that read whole directories', async () => {
    const policy = {
      ...onlyDocs,
      allow: ['read(docs/**)', 'bash(cat *)', 'bash(grep *)', 'bash(ls *)', 'bash(cd *)'],
    }
    const script = [
      calls(
        ...[
          'cat docs/a.md',
          'cat src/secret.ts',
          'cat < src/secret.ts',
          'cd src && cat secret.ts',
          'cat docs/../src/secret.ts',
          'cat docs/link.md',
          'grep -r marmalade .',
          'grep marmalade docs/a.md notes.txt',
          'ls src',
          'ls -R',
        ].map((command): [string, { command: string }] => ['bash', { command }]),
      ),
      'done',
    ]
    const [first, ...others] = await resultsOf(script, policy)
    expect(first).toContain('marmalade is public')
    for (const text of others) {
      expect(text).toContain('Refused')
      expect(text).not.toContain('hidden-text')
    }
  })

  it('applies to batches, programs and subagents', async () => {
    const inner = { tool: 'read', args: { file_path: 'src/secret.ts' } }
    const [batch, program] = await resultsOf(
      [
        calls(
          ['batch', { invocations: [inner] }],
          [
            'program',
            {
              source: 'export default async function run(ctx) { return await ctx.readFile("src/secret.ts") }',
            },
          ],
        ),
        'done',
      ],
      onlyDocs,
    )
    for (const text of [batch, program]) {
      expect(text).not.toContain('hidden-text')
      expect(text).toContain('defaultDecision')
    }
    const model = byPrompt(({ prompt, turn, results }) => {
      if (prompt === 'go')
        return turn === 0 ? call('task', { agent: 'explore', prompt: 'look' }) : (results[0] ?? '')
      return turn === 0 ? call('read', { file_path: 'src/secret.ts' }) : (results[0] ?? '')
    })
    const { session, root } = await openSession([], { permissionPolicy: onlyDocs, model }, {})
    await writeFiles(root, files)
    const { text } = await session.send('go')
    expect(text).not.toContain('hidden-text')
    expect(text).toContain('defaultDecision')
  })

  it('does not apply to the tools of the session itself and its own long output', async () => {
    const { session, server } = await openSession(
      [
        calls(
          ['todo', { todos: [{ content: 'a', status: 'pending' }] }],
          ['tool_search', { query: 'git' }],
          ['question', { questions: [{ question: 'Go?', options: ['yes', 'no'] }] }],
        ),
        bash('seq 1 100000'),
        ({ body }: { body: unknown }) => {
          const path = /\/[^\s"\\]*capstan[^\s"\\]*\/[^\s"\\]+/.exec(
            JSON.stringify(body).split('output_path').at(-1) ?? '',
          )
          return calls(['read', { file_path: path?.[0] ?? 'nowhere', limit: 1 }])
        },
        'done',
      ] as Script,
      { permissionPolicy: { allow: ['bash(seq *)'], defaultDecision: 'deny' } },
    )
    await session.send('go')
    for (const text of toolResults(server, 3)) expect(text).not.toContain('Refused')
  })

  it('does not count in a policy that is turned off', async () => {
    const [text] = await resultsOf([calls(['read', { file_path: 'notes.txt' }]), 'done'], {
      ...onlyDocs,
      enabled: false,
    })
    expect(text).toContain('hidden-text')
  })
})
