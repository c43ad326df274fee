import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { JsonValue } from '../../../src/tool/json.js'
import { calls, openSession, toolResults } from '../../contract/open-session.js'

const deep = 'a/b/c/d/e/f/g/h'

async function tried(
  steps: readonly [tool: string, args: JsonValue][],
  prepare: (root: string) => void = () => undefined,
): Promise<{ readonly results: readonly string[]; readonly root: string }> {
  const { server, session, root } = await openSession([...steps.map((step) => calls(step)), 'done'], {
    mode: 'full',
    permissionPolicy: { allow: ['write', 'edit', 'patch'] },
    onAsk: () => ({ decision: 'once' }),
  })
  prepare(root)
  await session.send('x')
  return { results: toolResults(server, steps.length), root }
}

const write = (path: string, content = 'x\n'): [string, JsonValue] => ['write', { file_path: path, content }]

describe('file tools and git directories', () => {
  it.each(['', 'sub/', `${deep}/`, 'node_modules/pkg/'])(
    'refuse a .git below %j, for any part of it',
    async (place) => {
      const parts = [
        '.git',
        '.git/config',
        '.GIT/hooks/pre-commit',
        '.git/commondir',
        './.git//info/attributes',
        '.git/modules/m/config',
        'x/../.git/objects/info/alternates',
      ]
      const { results, root } = await tried(parts.map((part) => write(`${place}${part}`)))
      for (const result of results) expect(result).toContain('protected')
      expect(existsSync(join(root, place, '.git'))).toBe(false)
    },
  )

  it.each([
    [['HEAD', 'objects/x', 'refs/x', 'config']],
    [['refs/heads/x', 'HEAD', 'objects/info/x', 'config']],
    [['objects/x', 'refs/x', 'config', 'HEAD']],
    [['commondir', 'HEAD', 'config']],
    [['HEAD', 'config', 'commondir']],
  ])('refuse to complete a bare repository, in the order %j', async (order) => {
    for (const place of ['', 'sub/', `${deep}/`]) {
      const { results, root } = await tried(order.map((part) => write(`${place}${part}`)))
      expect(results.some((result) => result.includes('is protected'))).toBe(true)
      const names = new Set(readdirSync(join(root, place)))
      expect(names.has('HEAD') && names.has('objects') && names.has('refs')).toBe(false)
      expect(names.has('HEAD') && names.has('commondir')).toBe(false)
    }
  })

  it('refuse to change a git directory that has another name', async () => {
    const { results, root } = await tried(
      [
        write('store/config'),
        write('store/hooks/post-checkout'),
        write(`${deep}/bare/config`),
        ['edit', { file_path: 'store/config', old_string: '[core]', new_string: '[alias]' }],
        ['patch', { file_path: 'store/config', diff: '@@ -1 +1 @@\n-[core]\n+[alias]\n' }],
        write('plain/objects/a'),
      ],
      (place) => {
        mkdirSync(join(place, deep), { recursive: true })
        execFileSync('git', ['init', '-q', '--bare', join(place, 'store')])
        execFileSync('git', ['init', '-q', '--bare', join(place, deep, 'bare')])
        mkdirSync(join(place, 'w'))
        writeFileSync(join(place, 'w/.git'), 'gitdir: ../store\n')
      },
    )
    for (const result of results.slice(0, 5)) expect(result).toContain('protected')
    expect(readFileSync(join(root, 'store/config'), 'utf8')).toContain('[core]')
    expect(existsSync(join(root, 'store/hooks/post-checkout'))).toBe(false)
    expect(existsSync(join(root, 'plain/objects/a'))).toBe(true)
  })
})
