import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type ToolboxWorkspace, toolboxWorkspace } from '../../test/toolbox/workspace.js'
import { checkToolContract } from '../testing/tool-contract.js'
import { lsTool } from './ls.js'

async function text(workspace: ToolboxWorkspace, args: object): Promise<string> {
  const envelope = await workspace.call(lsTool, args)
  return envelope.type === 'error' ? `error: ${envelope.error_text}` : String(envelope.data)
}

describe('ls', () => {
  it('satisfies the contract of a tool, with a short description', async () => {
    const samples = { valid: [{}, { path: 'src' }], invalid: [{ path: 1 }, { recursive: true }] }
    expect(await checkToolContract(lsTool, samples)).toEqual([])
    expect(lsTool.touches({})).toEqual([{ fs: 'read', path: '.' }])
    expect(JSON.stringify(lsTool.definition()).length).toBeLessThan(500)
  })

  it('lists names with kinds and sizes, hidden ones too, sorted by name', async () => {
    const workspace = await toolboxWorkspace({ 'b.txt': '12345', '.hidden': '', 'src/a.ts': 'x' })
    symlinkSync('/etc/passwd', join(workspace.root, 'link'))
    execFileSync('mkfifo', [join(workspace.root, 'pipe')])
    expect(await text(workspace, {})).toBe(
      [
        '         0  .hidden',
        '         5  b.txt',
        '   symlink  link',
        '     other  pipe',
        '       dir  src/',
        '',
      ].join('\n'),
    )
    expect(await text(workspace, { path: 'src' })).toBe('         1  a.ts\n')
  })

  it('shows unusual names so that each is one line', async () => {
    const workspace = await toolboxWorkspace({ 'a\nb': '', '-rf': '', 'with space': '', 'a\u202eb': '' })
    const lines = (await text(workspace, {})).trimEnd().split('\n')
    expect(lines.map((line) => line.slice(12))).toEqual(['-rf', '"a\\nb"', '"a\\u202eb"', 'with space'])
  })

  it('stops at 1000 entries and says how many more there are', async () => {
    const workspace = await toolboxWorkspace()
    mkdirSync(join(workspace.root, 'many'))
    for (let index = 0; index < 1007; index++) writeFileSync(join(workspace.root, 'many', `f${index}`), '')
    const listed = await text(workspace, { path: 'many' })
    expect(listed.split('\n').filter((line) => /^ +0 {2}f\d+$/.test(line))).toHaveLength(1000)
    expect(listed).toContain('... (7 more entries; find them by name with glob)')
    const { metadata } = await workspace.call(lsTool, { path: 'many' })
    expect(metadata).toMatchObject({ entries: 1007, truncated: true })
  })

  it('answers for a path that is empty, missing, not a directory, or outside', async () => {
    const workspace = await toolboxWorkspace({ 'src/a.ts': '' })
    mkdirSync(join(workspace.root, 'none'))
    symlinkSync('/etc', join(workspace.root, 'etc'))
    expect(await text(workspace, { path: 'none' })).toBe('(none is empty)')
    expect(await text(workspace, { path: 'scr' })).toContain('Did you mean src?')
    expect(await text(workspace, { path: 'src/a.ts' })).toContain('is not a directory; read it instead')
    for (const path of ['..', '/etc', 'etc', 'src/../..'])
      expect(await text(workspace, { path })).toMatch(/^error: .*(outside|nothing inside)/)
  })
})
