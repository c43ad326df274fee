import {
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type ToolboxWorkspace, toolboxWorkspace } from '../../test/toolbox/workspace.js'
import { checkToolContract } from '../testing/tool-contract.js'
import type { RuntimeFiles } from '../tool/runtime.js'
import { changeFiles } from '../workspace/files/change-files.js'
import { patchTool } from './patch.js'

async function patch(workspace: ToolboxWorkspace, diff: string, file_path?: string): Promise<string> {
  const envelope = await workspace.call(patchTool, {
    diff,
    ...(file_path === undefined ? {} : { file_path }),
  })
  return envelope.type === 'error' ? `error: ${envelope.error_text}` : String(envelope.data)
}

function content(workspace: ToolboxWorkspace, path: string): string {
  return readFileSync(join(workspace.root, path), 'utf8')
}

const numbers = 'one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n'
const change = (path: string, from: string, to: string): string =>
  `--- a/${path}\n+++ b/${path}\n@@ -1 +1 @@\n-${from}\n+${to}\n`

describe('patch', () => {
  it('satisfies the contract of a tool, with a short description', async () => {
    const problems = await checkToolContract(patchTool, {
      valid: [{ diff: '@@ -1 +1 @@\n-a\n+b', file_path: 'a' }],
      invalid: [{}, { diff: 1 }, { diff: 'no diff' }, { diff: '', fuzz: 2 }],
    })
    expect(problems).toEqual([])
    expect(JSON.stringify(patchTool.definition()).length).toBeLessThan(750)
  })

  it('applies bare hunks to file_path, also without a line feed at the end', async () => {
    const workspace = await toolboxWorkspace({ 'a.txt': 'uno\ntwo\ntres\n' })
    expect(await patch(workspace, '@@ -1,2 +1,2 @@\n uno\n-two\n+dos', 'a.txt')).toBe(
      'Applied 1 hunk(s) to a.txt (+1 -1 lines)',
    )
    expect(content(workspace, 'a.txt')).toBe('uno\ndos\ntres\n')
    expect(await patch(workspace, '--- x\n+++ ../y\n@@ -1,2 +1,2 @@\n-uno\n+eins\n dos', 'a.txt')).toContain(
      'Applied 1',
    )
    expect(content(workspace, 'a.txt')).toBe('eins\ndos\ntres\n')
  })

  it('changes, creates, deletes and renames in one diff, and reports each change', async () => {
    const workspace = await toolboxWorkspace({
      'src/a.txt': numbers,
      'old.txt': 'gone\n',
      'from.txt': 'keep\nchange\n',
    })
    chmodSync(join(workspace.root, 'from.txt'), 0o755)
    const diff = [
      'Some words before, as in a mail.',
      'diff --git a/src/a.txt b/src/a.txt',
      'index 1234567..89abcde 100644',
      '--- a/src/a.txt',
      '+++ b/src/a.txt',
      '@@ -1,3 +1,4 @@',
      '+zero',
      ' one',
      ' two',
      ' three',
      '@@ -8,3 +9,2 @@ seven',
      ' eight',
      '-nine',
      ' ten',
      'diff --git a/new file.txt b/new file.txt',
      'new file mode 100755',
      '--- /dev/null',
      '+++ b/new file.txt\t',
      '@@ -0,0 +1,2 @@',
      '+a',
      '+b',
      '\\ No newline at end of file',
      'diff --git a/old.txt b/old.txt',
      'deleted file mode 100644',
      '--- a/old.txt',
      '+++ /dev/null',
      '@@ -1 +0,0 @@',
      '-gone',
      'diff --git a/from.txt b/to/there.txt',
      'similarity index 50%',
      'rename from from.txt',
      'rename to to/there.txt',
      '--- a/from.txt',
      '+++ b/to/there.txt',
      '@@ -1,2 +1,2 @@',
      ' keep',
      '-change',
      '+changed',
      '-- ',
      '2.39.5',
      '',
    ].join('\n')
    const said = await workspace.call(patchTool, { diff })
    expect(said).toMatchObject({
      data: [
        'Applied 2 hunk(s) to src/a.txt (+1 -1 lines)',
        'Applied 1 hunk(s) to new file.txt (created, +2 -0 lines)',
        '  note: the file is not made executable',
        'Applied 1 hunk(s) to old.txt (deleted, +0 -1 lines)',
        'Applied 1 hunk(s) to to/there.txt (renamed from from.txt, +1 -1 lines)',
      ].join('\n'),
      metadata: {
        files: [
          { path: 'src/a.txt', hunks: 2, added: 1, removed: 1 },
          {},
          {},
          { path: 'to/there.txt', change: 'rename' },
        ],
      },
    })
    expect(content(workspace, 'src/a.txt')).toBe(`zero\n${numbers.replace('nine\n', '')}`)
    expect(content(workspace, 'new file.txt')).toBe('a\nb')
    expect(content(workspace, 'to/there.txt')).toBe('keep\nchanged\n')
    expect(statSync(join(workspace.root, 'to/there.txt')).mode & 0o777).toBe(0o755)
    expect(existsSync(join(workspace.root, 'old.txt')) || existsSync(join(workspace.root, 'from.txt'))).toBe(
      false,
    )
    expect(patchTool.touches({ diff })).toEqual(
      ['src/a.txt', 'new file.txt', 'old.txt', 'from.txt', 'to/there.txt'].flatMap((path) => [
        { fs: 'read', path },
        { fs: 'write', path },
      ]),
    )
  })

  it('reports the expected line and the line that it found, and changes no file at all', async () => {
    const workspace = await toolboxWorkspace({ 'a.txt': 'one\n', 'b.txt': 'present\n' })
    const said = await patch(workspace, change('a.txt', 'one', 'uno') + change('b.txt', 'past', 'future'))
    expect(said).toContain(
      'Failed to apply patch to b.txt: Hunk context mismatch at line 1: expected "past", found "present"',
    )
    expect(said).toContain('No file was changed.')
    expect([content(workspace, 'a.txt'), content(workspace, 'b.txt')]).toEqual(['one\n', 'present\n'])
    expect(await patch(workspace, '@@ -1,2 +1 @@\n one\n-two', 'a.txt')).toContain(
      'expected "two", found the end of the file',
    )
    expect(await patch(workspace, change('c.txt', 'a', 'b'))).toContain('Did you mean a.txt')
  })

  it('restores earlier files when a later one cannot be written', async () => {
    const workspace = await toolboxWorkspace({ 'a.txt': 'one\n', 'b.txt': 'two\n', 'gone.txt': 'x\n' })
    chmodSync(join(workspace.root, 'b.txt'), 0o444)
    const make = '--- /dev/null\n+++ b/deep/new.txt\n@@ -0,0 +1 @@\n+n\n'
    const rename =
      'diff --git a/gone.txt b/moved.txt\nrename from gone.txt\nrename to moved.txt\n--- a/gone.txt\n+++ b/moved.txt\n@@ -1 +1 @@\n-x\n+y\n'
    const said = await patch(
      workspace,
      change('a.txt', 'one', 'uno') + make + rename + change('b.txt', 'two', 'dos'),
    )
    expect(said).toMatch(
      /^error: Failed to apply patch to b\.txt: .*read-only.* was put back, so no file is changed\.$/,
    )
    expect(content(workspace, 'a.txt') + content(workspace, 'b.txt') + content(workspace, 'gone.txt')).toBe(
      'one\ntwo\nx\n',
    )
    expect(
      existsSync(join(workspace.root, 'deep/new.txt')) || existsSync(join(workspace.root, 'moved.txt')),
    ).toBe(false)
  })

  it('changes nothing when one of its files must not be written', async () => {
    const files = { 'a.txt': 'one\n', 'secret.txt': 'two\n' }
    const refuse = (kind: string, path: string): string | undefined =>
      kind === 'write' && path.endsWith('secret.txt') ? 'a rule denies it' : undefined
    const workspace = await toolboxWorkspace(files, { permit: { path: refuse } })
    const said = await patch(workspace, change('a.txt', 'one', 'uno') + change('secret.txt', 'two', 'dos'))
    expect(said).toMatch(/May not write "secret\.txt": a rule denies it.*no file is changed/)
    expect(content(workspace, 'a.txt') + content(workspace, 'secret.txt')).toBe('one\ntwo\n')
  })

  it('detects a file that changed meanwhile, and never overwrites what another process wrote while undoing', async () => {
    const workspace = await toolboxWorkspace({ 'a.txt': 'one\n', 'b.txt': 'two\n' })
    const files = workspace.runtime.files
    if (files === undefined) throw new Error('no files')
    const racing: RuntimeFiles = {
      ...files,
      change: (changes) => changeFiles(racing, changes),
      write: async (...args: Parameters<typeof files.write>) => {
        const outcome = await files.write(...args)
        if (args[0] === 'a.txt') {
          writeFileSync(join(workspace.root, 'a.txt'), 'theirs\n')
          writeFileSync(join(workspace.root, 'b.txt'), 'theirs\n')
        }
        return outcome
      },
    }
    const diff = change('a.txt', 'one', 'uno') + change('b.txt', 'two', 'dos')
    const envelope = await patchTool.execute({ diff }, { runtime: { files: racing } })
    const said = envelope.type === 'error' ? envelope.error_text : ''
    expect(said).toContain('Concurrent modification detected on b.txt')
    expect(said).toMatch(/could not be put back: a\.txt \(.*changed since it was read/)
    expect([content(workspace, 'a.txt'), content(workspace, 'b.txt')]).toEqual(['theirs\n', 'theirs\n'])
  })

  it('finds the only position of a hunk whose line numbers are wrong, and rejects two positions', async () => {
    const workspace = await toolboxWorkspace({ 'a.txt': numbers, 'b.txt': 'x\ny\n'.repeat(3) })
    expect(await patch(workspace, '@@ -1,2 +1,2 @@\n seven\n-eight\n+acht', 'a.txt')).toContain(
      'hunk 1 was applied at line 7, its header says 1',
    )
    expect(content(workspace, 'a.txt')).toBe(numbers.replace('eight', 'acht'))
    expect(await patch(workspace, '@@ -4,2 +4,2 @@\n x\n-y\n+z', 'b.txt')).toMatch(
      /hunk 1 fits at lines 1, 3, 5 and its header does not say which/,
    )
    expect(await patch(workspace, '@@ -3,2 +3,2 @@\n x\n-y\n+z', 'b.txt')).toContain('Applied 1')
    expect(content(workspace, 'b.txt')).toBe('x\ny\nx\nz\nx\ny\n')
    expect(await patch(workspace, '@@ -5,2 +9,2 @@\n x\n-y\n+z', 'b.txt')).toContain('does not say which')
    expect(await patch(workspace, '@@ -90,0 +91,1 @@\n+z', 'b.txt')).toContain('no context lines')
  })

  it('counts lines itself when the counts of a header are wrong, and reports it', async () => {
    const workspace = await toolboxWorkspace({ 'a.txt': numbers })
    const said = await patch(
      workspace,
      '@@ -1,9 +1,9 @@\n one\n-two\n+zwei\n three\n\n@@ -9,1 +9,1 @@\n-nine\n+neun\n-ten\n+zehn\n',
      'a.txt',
    )
    expect(said).toContain('Applied 2 hunk(s)')
    expect(said).toContain('note: a hunk header had wrong counts')
    expect(content(workspace, 'a.txt')).toBe(
      numbers.replace('two', 'zwei').replace('nine', 'neun').replace('ten', 'zehn'),
    )
  })

  it('reads content lines that look like headers as content when the counts say so', async () => {
    const workspace = await toolboxWorkspace({ 'a.sql': '-- comment\n-- x\nselect 1\n' })
    const diff = '--- a/a.sql\n+++ b/a.sql\n@@ -1,3 +1,3 @@\n--- comment\n+++ other\n -- x\n select 1\n'
    expect(await patch(workspace, diff)).toContain('(+1 -1 lines)')
    expect(content(workspace, 'a.sql')).toBe('++ other\n-- x\nselect 1\n')
  })

  it('does not take a place with other line endings when several places fit exactly', async () => {
    const before = '\r\na\n-- sql\nc\n\nlast\n\r\n'
    const workspace = await toolboxWorkspace({ 'a.txt': before })
    expect(await patch(workspace, '@@ -5 +5,2 @@\n \r\n+  x\n', 'a.txt')).toMatch(
      /hunk 1 fits at lines 1, 7 and its header does not say which/,
    )
    expect(content(workspace, 'a.txt')).toBe(before)
  })

  it('keeps CRLF, byte-order mark and a missing last line ending when the diff does not have them', async () => {
    const workspace = await toolboxWorkspace({
      'dos.txt': '\uFEFFone\r\ntwo\r\nthree',
      'plain.txt': 'one\ntwo',
    })
    expect(
      await patch(workspace, '@@ -1,3 +1,4 @@\n one\n-two\n+zwei\n+half\n three\n', 'dos.txt'),
    ).toContain('line endings of the file were kept')
    expect(content(workspace, 'dos.txt')).toBe('\uFEFFone\r\nzwei\r\nhalf\r\nthree')
    expect(await patch(workspace, '@@ -1,2 +1,3 @@\r\n one\r\n two\r\n+three\r\n', 'plain.txt')).toContain(
      'Applied',
    )
    expect(content(workspace, 'plain.txt')).toBe('one\ntwo\nthree')
    expect(await patch(workspace, '--- /dev/null\r\n+++ b/new.txt\r\n@@ -0,0 +1 @@\r\n+x\r\n')).toContain(
      'created',
    )
    expect(content(workspace, 'new.txt')).toBe('x\n')
    const exact = '@@ -1,2 +1,2 @@\n one\n-two\n+zwei\n\\ No newline at end of file\n'
    expect(await patch(workspace, exact, 'plain.txt')).toContain(
      'is the last line, without a line ending, but other lines follow',
    )
  })

  it('adds and removes the last line ending when the diff says so', async () => {
    const workspace = await toolboxWorkspace({ 'a.txt': 'one\ntwo' })
    expect(
      await patch(workspace, '@@ -1,2 +1,2 @@\n one\n-two\n\\ No newline at end of file\n+two\n', 'a.txt'),
    ).toContain('Applied')
    expect(content(workspace, 'a.txt')).toBe('one\ntwo\n')
    expect(
      await patch(workspace, '@@ -1,2 +1,2 @@\n one\n-two\n+two\n\\ No newline at end of file\n', 'a.txt'),
    ).toContain('Applied')
    expect(content(workspace, 'a.txt')).toBe('one\ntwo')
  })

  it('reads names as git writes them: spaces, quotes, octal, newlines, leading dashes', async () => {
    const names = { 'a b.txt': 'a b.txt\t', 'ü "q"\n.txt': '"%\\303\\274 \\"q\\"\\n.txt"', '-x': '-x' }
    for (const [name, written] of Object.entries(names)) {
      const workspace = await toolboxWorkspace({ [name]: 'one\n' })
      const side = (prefix: string): string =>
        written.startsWith('"') ? written.replace('%', prefix) : prefix + written
      expect(
        await patch(workspace, `--- ${side('a/')}\n+++ ${side('b/')}\n@@ -1 +1 @@\n-one\n+two\n`),
      ).toContain('Applied 1')
      expect(content(workspace, name)).toBe('two\n')
    }
  })

  it('creates and removes empty files, and reports modes that it does not set', async () => {
    const workspace = await toolboxWorkspace({ 'e.txt': '', 'run.sh': 'x\n' })
    const said = await patch(
      workspace,
      'diff --git a/n.txt b/n.txt\nnew file mode 100644\nindex 0000000..e69de29\ndiff --git a/e.txt b/e.txt\ndeleted file mode 100644\nindex e69de29..0000000\ndiff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n',
    )
    expect(said).toContain('note: the mode 100755 is not applied')
    expect(readdirSync(workspace.root).sort()).toEqual(['n.txt', 'run.sh'])
  })

  it('rejects a text that is not a valid diff, and says why', async () => {
    const workspace = await toolboxWorkspace({ 'a.txt': 'one\n', 'b.txt': 'x\n' })
    for (const [diff, words] of [
      ['', 'No @@ hunk headers found in diff'],
      ['--- a/a.txt\n+++ b/a.txt\n', 'No @@ hunk headers found in diff'],
      ['@@ -1 +1 @@\n-one\n+two', 'names no file'],
      ['--- a/a.txt\n+++ b/a.txt\n@@ one @@\n-one', 'is not a hunk header'],
      ['--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n one\n', 'adds and removes nothing'],
      ['--- a.txt\n+++ b.txt\n@@ -1 +1 @@\n-one\n+two', 'names two files'],
      [change('a.txt', 'one', 'two') + change('a.txt', 'two', 'three'), 'names a.txt twice'],
      ['--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+x', 'exists already'],
      ['--- a/a.txt\n+++ /dev/null\n@@ -1 +1 @@\n-one\n+left', 'leaves some of its lines'],
      ['diff --cc a.txt\n@@@ -1,1 -1,1 +1,1 @@@\n', 'combined diff'],
      ['diff --git a/a.txt b/c.txt\ncopy from a.txt\ncopy to c.txt\n', 'copy'],
      ['diff --git a/a.txt b/b.txt\nrename from a.txt\nrename to b.txt\n', 'exists already'],
    ] as const) {
      expect(await patch(workspace, diff), diff).toContain(words)
    }
    expect(
      await patch(workspace, change('a.txt', 'one', 'two') + change('b.txt', 'x', 'y'), 'a.txt'),
    ).toContain('this one has 2')
    expect(content(workspace, 'a.txt') + content(workspace, 'b.txt')).toBe('one\nx\n')
  })

  it('finds positions in time linear in the lengths of file and diff, also with many equal lines', async () => {
    const workspace = await toolboxWorkspace({ 'a.txt': `${'a\n'.repeat(100_000)}b\n` })
    const hunk = (last: string): string =>
      `--- a/a.txt\n+++ b/a.txt\n@@ -7,20001 +7,20001 @@\n${' a\n'.repeat(20_000)}-${last}\n+x\n`
    expect(await patch(workspace, hunk('c'))).toContain('expected "c", found "a"')
    expect(await patch(workspace, hunk('b'))).toContain('hunk 1 was applied at line 80001, its header says 7')
    expect(content(workspace, 'a.txt')).toBe(`${'a\n'.repeat(100_000)}x\n`)
  })

  it('SEC-028 applies no part of a diff with a path that leads out, a link, or a binary part', async () => {
    const workspace = await toolboxWorkspace({ 'a.txt': 'one\n' })
    const outside = join(workspace.root, '..', 'C')
    writeFileSync(outside, 'one\n')
    symlinkSync(outside, join(workspace.root, 'link'))
    const good = change('a.txt', 'one', 'two')
    const bad = [
      change('../C', 'one', 'two'),
      `--- ${outside}\n+++ ${outside}\n@@ -1 +1 @@\n-one\n+two\n`,
      `--- a/${outside}\n+++ b/${outside}\n@@ -1 +1 @@\n-one\n+two\n`,
      'diff --git a/a.txt b/../C2\nrename from a.txt\nrename to ../C2\n',
      '--- /dev/null\n+++ b/x/../../C2\n@@ -0,0 +1 @@\n+x\n',
      '--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n',
      '--- /dev/null\n+++ ~/C2\n@@ -0,0 +1 @@\n+x\n',
      '--- /dev/null\n+++ "b/\\056\\056/C2"\n@@ -0,0 +1 @@\n+x\n',
      `--- ${outside}\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n`,
      'diff --git a/i.png b/i.png\nindex 1..2 100644\nGIT binary patch\nliteral 3\nKcmZ\n',
      'diff --git a/i.png b/i.png\nBinary files a/i.png and b/i.png differ\n',
      'diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc/passwd\n\\ No newline at end of file\n',
      change('link', 'one', 'two'),
      change('.git/config', 'one', 'two'),
    ]
    for (const diff of bad) {
      for (const both of [good + diff, diff + good])
        expect(await patch(workspace, both), both).toMatch(/^error: /)
      expect(content(workspace, 'a.txt')).toBe('one\n')
      expect(readFileSync(outside, 'utf8')).toBe('one\n')
    }
    expect(readdirSync(join(workspace.root, '..')).filter((name) => name.startsWith('C'))).toEqual(['C'])
    // Reported before a user is asked to allow it.
    expect(() => patchTool.touches({ diff: good + bad[0] })).toThrow(/has "\.\." in it/)
  })
})
