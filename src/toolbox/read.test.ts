import { execFileSync } from 'node:child_process'
import {
  closeSync,
  ftruncateSync,
  openSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { propertyRuns } from '../../test/support/property-runs.js'
import { type ToolboxWorkspace, toolboxWorkspace } from '../../test/toolbox/workspace.js'
import { checkToolContract } from '../testing/tool-contract.js'
import { readTool } from './read.js'

async function output(workspace: ToolboxWorkspace, args: object): Promise<string> {
  const envelope = await workspace.call(readTool, args)
  if (envelope.type === 'error') throw new Error(envelope.error_text)
  return String(envelope.data)
}

async function failure(workspace: ToolboxWorkspace, args: object): Promise<string> {
  const envelope = await workspace.call(readTool, args)
  return envelope.type === 'error' ? envelope.error_text : `no failure: ${JSON.stringify(envelope.data)}`
}

const oneByOne = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

describe('read', () => {
  it('satisfies the contract of a tool, with a short description', async () => {
    const problems = await checkToolContract(readTool, {
      valid: [{ file_path: 'a' }, { file_path: 'a', offset: 1, limit: 2 }, { file_path: 'a', start_byte: 0 }],
      invalid: [{}, { file_path: 1 }, { file_path: 'a', offset: -1 }, { file_path: 'a', lines: 3 }],
    })
    expect(problems).toEqual([])
    expect(JSON.stringify(readTool.definition()).length).toBeLessThan(1150)
  })

  it('numbers lines, and says how to read the rest', async () => {
    const workspace = await toolboxWorkspace({ 'a.txt': 'one\ntwo\nthree\n' })
    expect(await output(workspace, { file_path: 'a.txt' })).toBe('     1\tone\n     2\ttwo\n     3\tthree\n')
    expect(await output(workspace, { file_path: 'a.txt', offset: 1, limit: 1 })).toBe(
      '     2\ttwo\n\n... (more lines available; continue with offset=2)\n',
    )
    expect(await output(workspace, { file_path: join(workspace.root, 'a.txt'), offset: 2 })).toBe(
      '     3\tthree\n',
    )
    expect(await output(workspace, { file_path: 'a.txt', offset: 3 })).toBe(
      '(end of file: offset 3 equals file length)',
    )
    expect(await failure(workspace, { file_path: 'a.txt', offset: 4 })).toContain(
      'Offset 4 exceeds file length (3 lines)',
    )
    writeFileSync(join(workspace.root, 'open.txt'), 'one\ntwo')
    expect(await output(workspace, { file_path: 'open.txt', offset: 2 })).toContain(
      'offset 2 equals file length',
    )
    expect(await failure(workspace, { file_path: 'open.txt', offset: 3 })).toContain('(2 lines)')
    const { metadata } = await workspace.call(readTool, { file_path: 'a.txt', limit: 2 })
    expect(metadata).toMatchObject({
      size: 14,
      encoding: 'utf-8',
      line_endings: 'lf',
      range: { offset: 0, lines: 2, next_offset: 2, eof: false },
    })
    expect(metadata['truncated']).toBeUndefined()
  })

  it('shows a file of up to 200 KB in full, however many lines it has and however long they are', async () => {
    const workspace = await toolboxWorkspace({
      'many.txt': 'a line\n'.repeat(20_000),
      'one.txt': 'y'.repeat(204_800),
      'wide.txt': `${'y'.repeat(102_399)}\n`.repeat(2),
    })
    for (const [file_path, lines] of [
      ['many.txt', 20_000],
      ['one.txt', 1],
      ['wide.txt', 2],
    ] as const) {
      const { metadata, ...envelope } = await workspace.call(readTool, { file_path })
      expect(metadata, file_path).toMatchObject({ range: { lines, eof: true, total_lines: lines } })
      expect(metadata, file_path).not.toHaveProperty('truncated')
      expect(envelope.type === 'output' && envelope.data, file_path).not.toContain('cut')
    }
  })

  it('stops at 200 KB between lines, and says so', async () => {
    const workspace = await toolboxWorkspace({
      'wide.txt': `${'y'.repeat(1_999)}\n`.repeat(103),
      'short.txt': '\n'.repeat(204_800),
    })
    const wide = await workspace.call(readTool, { file_path: 'wide.txt' })
    expect(wide.metadata).toMatchObject({
      truncated: true,
      output_path: 'wide.txt',
      range: { lines: 102, next_offset: 102 },
    })
    const text = String(wide.type === 'output' && wide.data)
    expect(text).toMatch(/continue with offset=102\)\n$/)
    const rest = await workspace.call(readTool, { file_path: 'wide.txt', offset: 102 })
    expect(rest.metadata).toMatchObject({ range: { lines: 1, eof: true } })
    // Numbers would take eight times as much as the text.
    const short = await workspace.call(readTool, { file_path: 'short.txt' })
    expect(short.metadata).toMatchObject({ truncated: true, range: { eof: false } })
    expect(Buffer.byteLength(String(short.type === 'output' && short.data))).toBeLessThan(400 * 1024)
  })

  it('reports that an empty file is empty', async () => {
    const workspace = await toolboxWorkspace({ 'none.txt': '' })
    expect(await output(workspace, { file_path: 'none.txt' })).toBe('(none.txt is empty)')
  })

  it('reports CRLF and byte-order marks outside of the text', async () => {
    const workspace = await toolboxWorkspace({
      'dos.txt': '\uFEFFone\r\ntwo\r\n',
      'mixed.txt': 'one\r\ntwo\nthree',
      'cr.txt': 'a\rb\n',
    })
    const dos = await workspace.call(readTool, { file_path: 'dos.txt' })
    expect(dos).toMatchObject({
      data: '     1\tone\n     2\ttwo\n',
      metadata: { line_endings: 'crlf', byte_order_mark: true, final_newline: true },
    })
    const mixed = await workspace.call(readTool, { file_path: 'mixed.txt' })
    expect(mixed.metadata).toMatchObject({ line_endings: 'mixed', final_newline: false })
    expect(await output(workspace, { file_path: 'cr.txt' })).toBe('     1\ta\rb\n')
  })

  it('decodes UTF-16 in both byte orders, and reports text that is not UTF-8', async () => {
    const le = Buffer.from('\uFEFFgrüße\r\nzwei\r\n', 'utf16le')
    const workspace = await toolboxWorkspace({
      'le.txt': le,
      'be.txt': Buffer.from(le).swap16(),
      'latin.txt': Buffer.from('caf\xe9\n', 'latin1'),
    })
    for (const name of ['le.txt', 'be.txt'])
      expect(await output(workspace, { file_path: name })).toBe('     1\tgrüße\n     2\tzwei\n')
    const latin = await output(workspace, { file_path: 'latin.txt' })
    expect(latin).toContain('     1\tcaf\uFFFD\n')
    expect(latin).toContain('not valid UTF-8')
    expect(await failure(workspace, { file_path: 'le.txt', start_byte: 0 })).toContain('UTF-16')
  })

  it('cuts a line longer than 200 KB between characters and says where the rest is', async () => {
    const line = `x${'ä'.repeat(102_500)}END`
    const workspace = await toolboxWorkspace({ 'long.txt': `first\n${line}\nlast\n` })
    const first = await workspace.call(readTool, { file_path: 'long.txt' })
    expect(first.metadata).toMatchObject({ truncated: true, range: { lines: 1, next_offset: 1 } })
    const cut = await workspace.call(readTool, { file_path: 'long.txt', offset: 1 })
    const text = String(cut.type === 'output' && cut.data)
    const [, mark] = /\[cut: (.*)\]/.exec(text) ?? []
    expect(mark).toBe('204799 of 205004 bytes; the rest: start_byte=204805 end_byte=205010')
    expect(text).not.toContain('\uFFFD')
    expect(cut.metadata).toMatchObject({ truncated: true, output_path: 'long.txt' })
    const rest = await output(workspace, { file_path: 'long.txt', start_byte: 204_805, end_byte: 205_010 })
    expect(rest).toBe(`${line.slice(-104)}\n... (more bytes available; continue with start_byte=205010)\n`)
  })

  it('reads byte ranges without breaking a character, each byte once', async () => {
    const text = 'aä€😀'.repeat(50)
    const workspace = await toolboxWorkspace({ 'u.txt': text })
    const size = Buffer.byteLength(text)
    let read = ''
    for (let at = 0; at < size; ) {
      const part = await output(workspace, {
        file_path: 'u.txt',
        start_byte: at,
        end_byte: Math.min(at + 7, size),
      })
      const [, next] = /\n\.\.\. \(more bytes available; continue with start_byte=(\d+)\)\n$/.exec(part) ?? []
      read += next === undefined ? part : part.slice(0, part.lastIndexOf('\n... ('))
      at = next === undefined ? size : Number(next)
    }
    expect(read).toBe(text)
    expect(await output(workspace, { file_path: 'u.txt', start_byte: 2, end_byte: 7 })).toMatch(
      /^€\n\.\.\. \(/,
    )
    expect(await failure(workspace, { file_path: 'u.txt', start_byte: size })).toContain(`(${size} bytes)`)
    expect(await failure(workspace, { file_path: 'u.txt', start_byte: 5, end_byte: 5 })).toContain(
      'must be larger',
    )
    expect(await failure(workspace, { file_path: 'u.txt', start_byte: 0, offset: 0 })).toContain('not both')
  })

  it('shows any range of any text like a plain split, wherever chunks and limits fall', async () => {
    const workspace = await toolboxWorkspace()
    const line = fc.oneof(
      fc.string({ maxLength: 12, unit: 'grapheme' }),
      fc.constant(''),
      fc.constant('ü'.repeat(40)),
    )
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          line.map((text) => text.replace(/[\0\r\n\uFEFF]/g, '')),
          { minLength: 1, maxLength: 30 },
        ),
        fc.boolean(),
        fc.nat(10),
        fc.integer({ min: 1, max: 12 }),
        async (lines, final, offset, limit) => {
          const text = lines.join('\n') + (final ? '\n' : '')
          const all = text === '' ? [] : (text.endsWith('\n') ? text.slice(0, -1) : text).split('\n')
          fc.pre(
            offset < all.length &&
              !/^\uFFFD|[\ud800-\udfff]/.test(Buffer.from(text).toString() === text ? '' : '\uFFFD'),
          )
          writeFileSync(join(workspace.root, 'p.txt'), text)
          const shown = await output(workspace, { file_path: 'p.txt', offset, limit })
          const wanted = all
            .slice(offset, offset + limit)
            .map((one, index) => `${String(offset + index + 1).padStart(6)}\t${one}\n`)
            .join('')
          const more = offset + limit < all.length
          expect(shown).toBe(
            more ? `${wanted}\n... (more lines available; continue with offset=${offset + limit})\n` : wanted,
          )
        },
      ),
      { numRuns: propertyRuns(60) },
    )
  })

  it('returns images as images, recognised by their bytes and not by their names', async () => {
    const workspace = await toolboxWorkspace({
      'photo.txt': oneByOne,
      'a.gif': Buffer.from('GIF89a\x01\0\x01\0'),
      'a.jpg': Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0]),
      'a.webp': Buffer.from('RIFF\x04\0\0\0WEBPVP8 '),
      'fake.png': 'just text\n',
    })
    const image = await workspace.call(readTool, { file_path: 'photo.txt' })
    expect(image).toMatchObject({
      type: 'output',
      data: [{ type: 'text' }, { type: 'image', mediaType: 'image/png', data: oneByOne.toString('base64') }],
    })
    for (const [name, mediaType] of [
      ['a.gif', 'image/gif'],
      ['a.jpg', 'image/jpeg'],
      ['a.webp', 'image/webp'],
    ])
      expect((await workspace.call(readTool, { file_path: name })).metadata['media_type']).toBe(mediaType)
    expect(await output(workspace, { file_path: 'fake.png' })).toBe('     1\tjust text\n')
    writeFileSync(join(workspace.root, 'big.png'), Buffer.concat([oneByOne, Buffer.alloc(4_000_000)]))
    expect(await failure(workspace, { file_path: 'big.png' })).toMatch(
      /image\/png.*4000070 bytes.*smaller copy/,
    )
  })

  it('reports binary files with their kind and size', async () => {
    const workspace = await toolboxWorkspace({
      'a.bin': new Uint8Array([1, 2, 0, 3]),
      'few.dat': `${'text\n'.repeat(50)}\0`,
      'x.pdf': '%PDF-1.7\nlooks like text\n',
      'late.log': `${'line\n'.repeat(4000)}\0\0\n`,
    })
    expect(await failure(workspace, { file_path: 'a.bin' })).toContain(
      'a.bin is a binary file (data, 4 bytes)',
    )
    expect(await failure(workspace, { file_path: 'few.dat' })).toContain('binary file (data, 251 bytes)')
    expect(await failure(workspace, { file_path: 'x.pdf' })).toContain('PDF document')
    const late = await output(workspace, { file_path: 'late.log', offset: 3999 })
    expect(late).toContain('  4000\tline\n')
    expect(late).toContain('line 4001 has NUL bytes')
    expect(await failure(workspace, { file_path: 'late.log', offset: 4000 })).toContain('binary file')
  })

  it('answers for missing files and directories with the nearest names', async () => {
    const workspace = await toolboxWorkspace({ 'src/parser.ts': '', 'src/lexer.ts': '', 'docs/guide.md': '' })
    expect(await failure(workspace, { file_path: 'src/parsre.ts' })).toContain('Did you mean src/parser.ts?')
    expect(await failure(workspace, { file_path: 'scr/lexer.ts' })).toContain('Did you mean src/lexer.ts?')
    expect(await failure(workspace, { file_path: 'guide.md' })).toContain('Did you mean docs/guide.md?')
    expect(await failure(workspace, { file_path: 'zzz/qqq/www' })).toMatch(
      /zzz does not exist either\. The workspace root holds docs\/, src\//,
    )
    expect(await failure(workspace, { file_path: 'src' })).toContain(
      'src is a directory, not a file. src holds lexer.ts, parser.ts.',
    )
    expect(await failure(workspace, { file_path: `${workspace.root}/src/lexr.ts` })).toContain(
      `${workspace.root}/src/lexer.ts?`,
    )
  })

  it('reads names with spaces, quotes, newlines and leading dashes, and shows them escaped', async () => {
    const names = ['a b.txt', '-rf', '"q".txt', "it's", 'new\nline', 'ünï', '%20', '$(x)', '*']
    const workspace = await toolboxWorkspace(Object.fromEntries(names.map((name) => [name, 'ok'])))
    for (const name of names) expect(await output(workspace, { file_path: name })).toBe('     1\tok\n')
    expect(await failure(workspace, { file_path: 'new\nlien' })).toContain('Did you mean "new\\nline"?')
  })

  it('reads in a deep tree, and through links that stay inside', async () => {
    const deep = Array.from({ length: 60 }, (_, index) => `d${index}`).join('/')
    const workspace = await toolboxWorkspace({ [`${deep}/f.txt`]: 'deep' })
    symlinkSync(deep, join(workspace.root, 'short'))
    expect(await output(workspace, { file_path: `${deep}/f.txt` })).toBe('     1\tdeep\n')
    expect(await output(workspace, { file_path: 'short/f.txt' })).toBe('     1\tdeep\n')
  })

  it('reads what a call saved in the scratch directory', async () => {
    const workspace = await toolboxWorkspace()
    const path = (await workspace.runtime.scratch?.write('out', 'long output\n')) ?? ''
    expect(await output(workspace, { file_path: path })).toBe('     1\tlong output\n')
  })

  it('SEC-001 SEC-002 SEC-005 SEC-012 SEC-014 reads nothing outside, and nothing but files', async () => {
    const workspace = await toolboxWorkspace({ 'a.txt': '' })
    const outside = join(workspace.root, '..', 'C')
    writeFileSync(outside, 'canary')
    symlinkSync(outside, join(workspace.root, 'link'))
    execFileSync('mkfifo', [join(workspace.root, 'pipe')])
    const socket = createServer().listen(join(workspace.root, 'socket'))
    await new Promise((resolve) => socket.once('listening', resolve))
    for (const path of [
      '../C',
      outside,
      'link',
      '/proc/self/environ',
      '/dev/zero',
      'a\0.txt',
      'pipe',
      'socket',
      `${'x'.repeat(300)}`,
      'x/'.repeat(2500),
      '',
    ]) {
      const text = await failure(workspace, { file_path: path })
      expect(text, path).not.toContain('canary')
      expect(text, path).not.toContain('no failure')
    }
    await new Promise((resolve) => socket.close(resolve))
  })

  it('SEC-022 reads a sparse file of 10 GB in little memory', async () => {
    const workspace = await toolboxWorkspace({ 'text-first.log': 'a line of text\n'.repeat(20_000) })
    writeFileSync(join(workspace.root, 'hole.bin'), '')
    truncateSync(join(workspace.root, 'hole.bin'), 10 * 1024 ** 3)
    truncateSync(join(workspace.root, 'text-first.log'), 10 * 1024 ** 3)
    const before = process.memoryUsage().rss
    expect(await failure(workspace, { file_path: 'hole.bin' })).toContain(
      'binary file (data, 10737418240 bytes)',
    )
    const head = await workspace.call(readTool, { file_path: 'text-first.log' })
    expect(head.metadata).toMatchObject({ truncated: true, range: { lines: 13_653, eof: false } })
    const edge = await output(workspace, { file_path: 'text-first.log', offset: 19_999 })
    expect(edge).toContain('line 20001 has NUL bytes')
    // Far less than the file, and more than the young generation of a worker can grow meanwhile.
    expect(process.memoryUsage().rss - before).toBeLessThan(90 * 1024 ** 2)
  })

  it('reads the middle of 100 MB without loading all of it', async () => {
    const workspace = await toolboxWorkspace()
    const line = 'x'.repeat(99)
    const file = openSync(join(workspace.root, 'big.txt'), 'w')
    const block = Buffer.from(`${line}\n`.repeat(10_000))
    for (let written = 0; written < 100; written++) writeSync(file, block)
    writeSync(file, 'the end\n')
    closeSync(file)
    const before = process.memoryUsage().rss
    const text = await output(workspace, { file_path: 'big.txt', offset: 500_000, limit: 2 })
    expect(text).toBe(
      `500001\t${line}\n500002\t${line}\n\n... (more lines available; continue with offset=500002)\n`,
    )
    expect(await output(workspace, { file_path: 'big.txt', offset: 1_000_000 })).toBe('1000001\tthe end\n')
    const range = await output(workspace, {
      file_path: 'big.txt',
      start_byte: 50_000_000,
      end_byte: 50_000_099,
    })
    expect(range.startsWith(`${line}\n... (more bytes`)).toBe(true)
    // Loading all of it takes at least 100 MB; the young generation of a worker can grow by 64 MB meanwhile.
    expect(process.memoryUsage().rss - before).toBeLessThan(90 * 1024 ** 2)
  })

  it('stops between chunks when the run is aborted', async () => {
    const workspace = await toolboxWorkspace()
    const file = openSync(join(workspace.root, 'big.txt'), 'w')
    writeSync(file, 'text\n'.repeat(20_000))
    ftruncateSync(file, 4 * 1024 ** 3)
    closeSync(file)
    const controller = new AbortController()
    const files = workspace.runtime.files
    if (files === undefined) throw new Error('no files')
    let chunks = 0
    const watched = {
      ...files,
      readRange: async (path: string, start: number, end: number) => {
        if (++chunks === 4) controller.abort()
        return files.readRange(path, start, end)
      },
    }
    const envelope = await readTool.execute(
      { file_path: 'big.txt', offset: 1_000_000 },
      { runtime: { files: watched }, signal: controller.signal },
    )
    expect(envelope).toMatchObject({ type: 'error', error_text: 'Reading big.txt was cancelled.' })
    expect(chunks).toBe(4)
  })

  it('reports that the file changed while it was read', async () => {
    const workspace = await toolboxWorkspace({ 'big.txt': 'old line\n'.repeat(200_000) })
    const files = workspace.runtime.files
    if (files === undefined) throw new Error('no files')
    let calls = 0
    const watched = {
      ...files,
      readRange: async (path: string, start: number, end: number) => {
        if (++calls === 3) writeFileSync(join(workspace.root, 'big.txt'), 'new line\n'.repeat(200_000))
        return files.readRange(path, start, end)
      },
    }
    const envelope = await readTool.execute(
      { file_path: 'big.txt', offset: 150_000, limit: 1 },
      { runtime: { files: watched } },
    )
    expect(calls).toBe(4)
    expect(envelope).toMatchObject({ data: expect.stringContaining('was changed while it was read') })
  })

  it('reports that the host provides no files', async () => {
    expect(await readTool.execute({ file_path: 'a' }, { runtime: {} })).toMatchObject({
      type: 'error',
      error_text: expect.stringContaining('provides no files'),
    })
  })
})
