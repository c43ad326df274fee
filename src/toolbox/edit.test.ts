import { chmodSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { propertyRuns } from '../../test/support/property-runs.js'
import { type ToolboxWorkspace, toolboxWorkspace } from '../../test/toolbox/workspace.js'
import { checkToolContract } from '../testing/tool-contract.js'
import { createMemoryFiles } from '../workspace/files/memory-files.js'
import { editTool } from './edit.js'

type Words = { file_path?: string; old_string: string; new_string: string; replace_all?: boolean }

async function edit(workspace: ToolboxWorkspace, words: Words): Promise<string> {
  const envelope = await workspace.call(editTool, { file_path: 'a.txt', ...words })
  return envelope.type === 'error' ? `error: ${envelope.error_text}` : String(envelope.data)
}

function content(workspace: ToolboxWorkspace, path = 'a.txt'): string {
  return readFileSync(join(workspace.root, path), 'utf8')
}

describe('edit', () => {
  it('satisfies the contract of a tool, with a short description', async () => {
    const valid = { file_path: 'a', old_string: 'a', new_string: 'b' }
    const problems = await checkToolContract(editTool, {
      valid: [valid, { ...valid, replace_all: true }],
      invalid: [
        { file_path: 'a', old_string: 'a' },
        { ...valid, regex: true },
      ],
    })
    expect(problems).toEqual([])
    expect(JSON.stringify(editTool.definition()).length).toBeLessThan(800)
  })

  it('replaces the only occurrence, keeps the mode, and confirms without repeating the text', async () => {
    const workspace = await toolboxWorkspace({ 'a.txt': 'one\ntwo\nthree\n' })
    chmodSync(join(workspace.root, 'a.txt'), 0o751)
    const envelope = await workspace.call(editTool, {
      file_path: 'a.txt',
      old_string: 'two',
      new_string: 'zwei\ndrei',
    })
    expect(envelope).toMatchObject({
      data: 'Replaced 1 occurrence(s) in a.txt (+2 -1 lines)',
      metadata: { replacements: 1, added: 2, removed: 1, bytes: 20 },
    })
    expect(content(workspace)).toBe('one\nzwei\ndrei\nthree\n')
    expect(statSync(join(workspace.root, 'a.txt')).mode & 0o777).toBe(0o751)
    expect(JSON.stringify(envelope)).not.toContain('zwei')
  })

  it('counts the lines that were added and removed', async () => {
    const workspace = await toolboxWorkspace({ 'a.txt': 'a a\nb\na\nc\n' })
    expect(await edit(workspace, { old_string: 'a', new_string: 'x', replace_all: true })).toBe(
      'Replaced 3 occurrence(s) in a.txt (+2 -2 lines)',
    )
    expect(await edit(workspace, { old_string: 'b\n', new_string: '' })).toContain('(+0 -1 lines)')
    expect(await edit(workspace, { old_string: 'x\n', new_string: 'x', replace_all: true })).toContain(
      '(+1 -3 lines)',
    )
    expect(content(workspace)).toBe('x xxc\n')
  })

  it('does not change the file when the text occurs more than once, and says where', async () => {
    const before = 'x = 1\ny = 2\nx = 1\naaa\n'
    const workspace = await toolboxWorkspace({ 'a.txt': before })
    const twice = await edit(workspace, { old_string: 'x = 1', new_string: 'z' })
    expect(twice).toContain('old_string found 2 times in a.txt (at lines 1, 3)')
    expect(twice).toContain('replace_all=true')
    expect(await edit(workspace, { old_string: 'aa', new_string: 'b' })).toContain(
      'found 2 times in a.txt (at line 4)',
    )
    expect(content(workspace)).toBe(before)
  })

  it('suggests what was probably meant when the text does not occur', async () => {
    const before = 'function add(a, b) {\n\treturn a + b\n}\nconst total = add(1, 2)\n'
    const workspace = await toolboxWorkspace({ 'a.txt': before })
    const says = (old_string: string): Promise<string> => edit(workspace, { old_string, new_string: '!' })
    expect(await says('    return a + b')).toMatch(
      /not found in a.txt; .* other whitespace is at line 2: "\\treturn a \+ b"/,
    )
    expect(await says('     4\tconst total = add(1, 2)')).toContain('carries the line numbers')
    expect(await says('FUNCTION add(a, b) {')).toContain('other letter case is at line 1')
    expect(await says('function add(a, b) {\n\treturn a - b\n}')).toContain(
      'first 1 line(s) match at line 1, but line 2 is "\\treturn a + b"',
    )
    expect(await says('const total = sum(1, 2)')).toContain('The nearest line is line 4')
    expect(await says('nothing like it')).toContain('Read the file again')
    expect(content(workspace)).toBe(before)
  })

  it('rejects an edit that would change nothing, and names what it cannot edit', async () => {
    const latin = Buffer.from('caf\xe9', 'latin1')
    const workspace = await toolboxWorkspace({ 'a.txt': 'a\r\n', 'latin.txt': latin, 'dir/x': '' })
    expect(await edit(workspace, { old_string: 'a', new_string: 'a' })).toContain('are the same')
    expect(await edit(workspace, { old_string: '', new_string: 'a' })).toContain(
      'old_string must not be empty',
    )
    expect(await edit(workspace, { old_string: 'a\r\n', new_string: 'a\n' })).toContain(
      'only in line endings',
    )
    expect(await edit(workspace, { file_path: 'latin.txt', old_string: 'caf', new_string: 'x' })).toContain(
      'latin.txt is not UTF-8 text',
    )
    expect(readFileSync(join(workspace.root, 'latin.txt')).equals(latin)).toBe(true)
    expect(await edit(workspace, { file_path: 'b.txt', old_string: 'a', new_string: 'b' })).toContain(
      'Did you mean a.txt?',
    )
    expect(await edit(workspace, { file_path: 'dir', old_string: 'a', new_string: 'b' })).toContain(
      'is a directory',
    )
  })

  it('edits a file with CRLF by text with LF, and changes nothing else', async () => {
    const workspace = await toolboxWorkspace({ 'a.txt': '\uFEFFone\r\ntwo\r\nthree\r\n' })
    expect(await edit(workspace, { old_string: 'one\ntwo\n', new_string: 'one\nzwei\nhalf\n' })).toContain(
      '(+2 -1 lines)',
    )
    expect(content(workspace)).toBe('\uFEFFone\r\nzwei\r\nhalf\r\nthree\r\n')
    expect(await edit(workspace, { old_string: 'half\r\nthree', new_string: 'end' })).toContain('Replaced 1')
    expect(content(workspace)).toBe('\uFEFFone\r\nzwei\r\nend\r\n')
  })

  it('keeps every byte of mixed line endings that it does not replace', async () => {
    const workspace = await toolboxWorkspace({ 'a.txt': 'a\r\nb\nc\r\nd\n' })
    await edit(workspace, { old_string: 'a\nb\nc\nd', new_string: 'a\nB\nC\nd' })
    expect(content(workspace)).toBe('a\r\nB\nC\r\nd\n')
    await edit(workspace, { old_string: 'a\nB\nC', new_string: 'A\nb\nX' })
    expect(content(workspace)).toBe('A\r\nb\nX\r\nd\n')
    await edit(workspace, { old_string: 'X', new_string: 'X\nnew' })
    expect(content(workspace)).toBe('A\r\nb\nX\r\nnew\r\nd\n')
  })

  it('takes time linear in the length of a file, also with many equal lines and places', async () => {
    const workspace = await toolboxWorkspace({
      'long.txt': 'a'.repeat(300_000),
      'alike.txt': 'a\n'.repeat(100_000),
    })
    const all = { file_path: 'long.txt', replace_all: true }
    expect(await edit(workspace, { ...all, old_string: 'a', new_string: 'b\n' })).toContain('Replaced 300000')
    expect(content(workspace, 'long.txt')).toBe('b\n'.repeat(300_000))
    writeFileSync(join(workspace.root, 'long.txt'), 'a'.repeat(300_000))
    expect(await edit(workspace, { ...all, old_string: 'aa', new_string: 'cc' })).toContain('(+1 -1 lines)')
    const missing = { file_path: 'alike.txt', old_string: `${'a\n'.repeat(20_000)}b`, new_string: 'c' }
    expect(await edit(workspace, missing)).toContain('Its first 20000 line(s) match at line 1')
    // Minutes, when a line is walked once for each of its places.
  })

  it('rejects more occurrences than can be replaced at once', async () => {
    const workspace = await toolboxWorkspace({ 'a.txt': 'a'.repeat(1_000_001) })
    for (const replace_all of [true, false])
      expect(await edit(workspace, { old_string: 'a', new_string: 'b', replace_all })).toMatch(
        /^error: old_string found more than 1000000 times in a\.txt; the file was left untouched/,
      )
  })

  it('edits through a link that stays inside the workspace, and not through one that leads out', async () => {
    const workspace = await toolboxWorkspace({ 'real.txt': 'x' })
    const outside = join(workspace.root, '..', 'C')
    writeFileSync(outside, 'x')
    symlinkSync('real.txt', join(workspace.root, 'in'))
    symlinkSync(outside, join(workspace.root, 'out'))
    expect(await edit(workspace, { file_path: 'in', old_string: 'x', new_string: 'y' })).toContain(
      'Replaced 1',
    )
    expect(content(workspace, 'real.txt')).toBe('y')
    expect(await edit(workspace, { file_path: 'out', old_string: 'x', new_string: 'y' })).toContain(
      'leads to nothing inside',
    )
    expect(readFileSync(outside, 'utf8')).toBe('x')
  })

  it('detects that the file changed between reading and writing', async () => {
    const workspace = await toolboxWorkspace({ 'a.txt': 'one\n' })
    const files = workspace.runtime.files
    if (files === undefined) throw new Error('no files')
    const racing = {
      ...files,
      read: async (path: string) => {
        const read = await files.read(path)
        writeFileSync(join(workspace.root, path), 'two\n')
        return read
      },
    }
    const args = { file_path: 'a.txt', old_string: 'one', new_string: 'uno' }
    const envelope = await editTool.execute(args, { runtime: { files: racing } })
    expect(envelope).toMatchObject({
      type: 'error',
      error_text: expect.stringMatching(/^Concurrent modification detected on a\.txt: .*Read it again/),
    })
    expect(content(workspace)).toBe('two\n')
  })

  it('loses no edit when many run at once: each is made, or reports that it was not', async () => {
    const names = Array.from({ length: 10 }, (_, index) => `word${index}`)
    const workspace = await toolboxWorkspace({ 'a.txt': `${names.join('\n')}\n` })
    const results = await Promise.all(
      names.map((name) => edit(workspace, { old_string: `${name}\n`, new_string: `done-${name}\n` })),
    )
    const made = names.filter((_, index) => results[index]?.startsWith('Replaced'))
    expect(made.length).toBeGreaterThan(0)
    expect(results.every((text) => /^Replaced|Concurrent modification/.test(text))).toBe(true)
    expect(content(workspace)).toBe(
      `${names.map((name) => (made.includes(name) ? `done-${name}` : name)).join('\n')}\n`,
    )
  })

  it('SEC-026 changes any file like a split and join on text with LF, and never touches another byte', async () => {
    const piece = fc.constantFrom('a', 'b', 'ab', '\n', '\r\n', '\r\n', ' ', 'ü', '😀', '\t', '\r')
    const text = fc.array(piece, { maxLength: 25 }).map((parts) => parts.join(''))
    const bom = fc.constantFrom('', '\uFEFF')
    const wanted = fc.array(piece, { minLength: 1, maxLength: 3 }).map((parts) => parts.join(''))
    await fc.assert(
      fc.asyncProperty(text, bom, wanted, wanted, fc.boolean(), async (body, mark, old, now, all) => {
        const before = mark + body
        const files = createMemoryFiles({ files: { 'a.txt': before } })
        const args = { file_path: 'a.txt', old_string: old, new_string: now, replace_all: all }
        const envelope = await editTool.execute(args, { runtime: { files } })
        const after = await files.readText('a.txt')
        const lf = (value: string): string => value.replaceAll('\r\n', '\n')
        const parts = lf(body).split(lf(old))
        const found = parts.length - 1
        const clear =
          found > 0 && (all || (found === 1 && lf(body).indexOf(lf(old), lf(body).indexOf(lf(old)) + 1) < 0))
        if (!clear || lf(old) === lf(now)) {
          expect(envelope.type).toBe('error')
          expect(after).toBe(before)
          return
        }
        expect(envelope.type).toBe('output')
        const kept = keptParts(body, lf(old))
        const style = endingsOf(body)
        if (style !== 'mixed') {
          expect(after).toBe(mark + kept.join(style === '' ? now : lf(now).replaceAll('\n', style)))
          return
        }
        const [head = '', tail = ''] = [mark + (kept[0] ?? ''), kept.at(-1)]
        expect(after.startsWith(head) && after.endsWith(tail)).toBe(true)
        const put = after.slice(head.length, after.length - tail.length)
        if (found === 1) expect(put.replaceAll('\r', '')).toBe(now.replaceAll('\r', ''))
      }),
      { numRuns: propertyRuns(3_000) },
    )
  })
})

/** The parts of a text around the places of another, found unit by unit, a CRLF being one: all bytes that must stay. */
function keptParts(body: string, wanted: string): string[] {
  const units = body.match(/\r\n|[\s\S]/g) ?? []
  const plain = units.map((unit) => (unit === '\r\n' ? '\n' : unit))
  const sought = wanted.split('')
  const parts = ['']
  for (let at = 0; at < units.length; ) {
    if (sought.every((unit, index) => plain[at + index] === unit)) {
      parts.push('')
      at += sought.length
    } else parts.push(`${parts.pop() ?? ''}${units[at++]}`)
  }
  return parts
}

function endingsOf(body: string): '' | '\n' | '\r\n' | 'mixed' {
  const found = new Set(body.match(/\r?\n/g))
  if (found.size > 1) return 'mixed'
  return found.has('\n') ? '\n' : found.has('\r\n') ? '\r\n' : ''
}
