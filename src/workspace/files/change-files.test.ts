import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { temporaryDirectory } from '../../../test/support/temporary-directory.js'
import type { FileChange } from '../../tool/runtime.js'
import { FilesNotChangedError } from './errors.js'
import { createLocalFiles, type LocalFiles } from './local-files.js'
import { createMemoryFiles } from './memory-files.js'

let root: string
beforeEach(async () => {
  root = temporaryDirectory()
  for (const name of ['a', 'b', 'c']) await writeFile(join(root, name), `${name}\n`)
})

const text = (name: string): Promise<string> => readFile(join(root, name), 'utf8')
async function rewriting(files: Pick<LocalFiles, 'read'>, ...names: string[]): Promise<FileChange[]> {
  const changes: FileChange[] = []
  for (const path of names) {
    const { version, bytes } = await files.read(path)
    changes.push({ kind: 'write', path, after: `new ${path}\n`, before: { version, bytes } })
  }
  return changes
}

describe('changing several files', () => {
  it('is completed once it has started, whatever happens to its call', async () => {
    const files = createLocalFiles({ root })
    const stop = new AbortController()
    const changes = await rewriting(files, 'a', 'b', 'c')
    const call = files.forCall({
      signal: stop.signal,
      permit: (kind, path) => {
        if (kind === 'write' && path.endsWith('/b')) stop.abort()
        return undefined
      },
    })
    await call.change(changes)
    expect(stop.signal.aborted).toBe(true)
    expect([await text('a'), await text('b'), await text('c')]).toEqual(['new a\n', 'new b\n', 'new c\n'])
  })

  it('does not start when its call has ended', async () => {
    const files = createLocalFiles({ root })
    const changes = await rewriting(files, 'a', 'b')
    await expect(files.forCall({ signal: AbortSignal.abort() }).change(changes)).rejects.toThrow()
    expect(await text('a')).toBe('a\n')
  })

  it('leaves every file unchanged when one of them must not be written', async () => {
    const files = createLocalFiles({ root })
    const changes = await rewriting(files, 'a', 'b', 'c')
    const { version, bytes } = await files.read('b')
    const all: FileChange[] = [
      ...changes.filter(({ path }) => path !== 'b'),
      { kind: 'move', path: 'b', to: 'd', before: { version, bytes } },
      { kind: 'create', path: 'new', after: 'n' },
      { kind: 'create', path: '.git/hooks/pre-commit', after: 'n' },
    ]
    const error = await files.change(all).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(FilesNotChangedError)
    expect(error).toMatchObject({ path: '.git/hooks/pre-commit', done: 4, left: [] })
    expect([await text('a'), await text('b'), await text('c')]).toEqual(['a\n', 'b\n', 'c\n'])
    await expect(text('new')).rejects.toThrow()
    await expect(text('d')).rejects.toThrow()
  })

  it('works the same in memory', async () => {
    const files = createMemoryFiles({ files: { a: 'a', b: 'b' } })
    const changes = await rewriting(files, 'a')
    const { version, bytes } = await files.read('b')
    await files.change([...changes, { kind: 'remove', path: 'b', before: { version, bytes } }])
    expect(await files.readText('a')).toBe('new a\n')
    await expect(files.change([{ kind: 'create', path: 'a', after: 'x' }])).rejects.toBeInstanceOf(
      FilesNotChangedError,
    )
  })
})
