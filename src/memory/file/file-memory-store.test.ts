import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyCharacter } from '../../../test/support/any-character.js'
import { propertyRuns } from '../../../test/support/property-runs.js'
import { temporaryDirectory } from '../../../test/support/temporary-directory.js'
import { nodeFiles } from '../../store/file/file-layer.js'
import { checkMemoryStore } from '../../testing/memory-store-kit.js'
import { InProcessMemoryStore } from '../in-process-store.js'
import { checkMemoryItem, type MemoryItem } from '../memory-item.js'
import { FileMemoryStore } from './file-memory-store.js'
import { itemText, readItem } from './item-text.js'

function directory(): string {
  const path = temporaryDirectory()
  return path
}

function item(id: string, fields: Partial<MemoryItem> = {}): MemoryItem {
  return {
    id,
    content: `what ${id} says`,
    createdAtMs: Date.UTC(2026, 10, 16),
    importance: 0.5,
    tags: [],
    memoryType: 'semantic',
    metadata: {},
    ...fields,
  }
}

describe('the stores of memories', () => {
  it('implement the interface', async () => {
    expect(await checkMemoryStore(() => new InProcessMemoryStore(), { again: (store) => store })).toEqual([])
    expect(
      await checkMemoryStore(() => new FileMemoryStore(join(directory(), 'deep', 'er')), {
        again: (store) => new FileMemoryStore((store as FileMemoryStore).directory),
      }),
    ).toEqual([])
  })
})

describe('the file of an item', () => {
  it('is Markdown with front matter', async () => {
    const place = directory()
    await new FileMemoryStore(place).add(
      item('note', {
        content: 'Success: it\nResult: works',
        tags: ['success', 'grep'],
        memoryType: 'procedural',
        importance: 0.8,
      }),
    )
    expect(readFileSync(join(place, 'note.md'), 'utf8')).toBe(
      [
        '---',
        'type: procedural',
        'importance: 0.8',
        'created: 2026-11-16T00:00:00.000Z',
        'tags: ["success","grep"]',
        '---',
        '',
        'Success: it',
        'Result: works',
        '',
      ].join('\n'),
    )
    expect(readdirSync(place)).toEqual(['note.md'])
  })

  it('contains every item that was written', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          content: fc.oneof(
            fc.string({ unit: anyCharacter }),
            fc.string({ unit: fc.constantFrom('-', '\n', '\r', ' ', ':', 'a') }),
          ),
          createdAtMs: fc.integer({ min: -8e15, max: 8e15 }),
          importance: fc.double({ min: 0, max: 1, noNaN: true }),
          tags: fc.array(fc.string({ minLength: 1, maxLength: 20 }), { maxLength: 5 }),
          memoryType: fc.constantFrom('episodic' as const, 'semantic' as const, 'procedural' as const),
          metadata: fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 }),
        }),
        async (fields) => {
          let checked: MemoryItem
          try {
            checked = checkMemoryItem(item('x', fields as Partial<MemoryItem>))
          } catch {
            return
          }
          const back = readItem('x', itemText(checked), 0)
          expect(JSON.parse(JSON.stringify(back))).toEqual(JSON.parse(JSON.stringify(checked)))
        },
      ),
      { numRuns: propertyRuns(150) },
    )
  })

  it.each<[string, string, Partial<MemoryItem>]>([
    ['a note without anything around it', 'Use pnpm here.\n', { content: 'Use pnpm here.' }],
    [
      'tags as YAML writes them',
      '---\ntags:\n  - a\n  - b\n---\ntext',
      { tags: ['a', 'b'], content: 'text' },
    ],
    ['tags in one line', '---\ntags: [a, b]\n---\ntext', { tags: ['a', 'b'] }],
    ['tags with commas', '---\ntags: a, b\nimportance: 7\n---\ntext', { tags: ['a', 'b'], importance: 1 }],
    ['a date alone', '---\ncreated: 2026-01-02\n---\ntext', { createdAtMs: Date.UTC(2026, 0, 2) }],
    [
      'lines that end as on Windows',
      '---\r\ntype: episodic\r\n---\r\n\r\ntext\r\n',
      { memoryType: 'episodic', content: 'text' },
    ],
    ['an unknown name', '---\ncolour: {a: [}\ntype: episodic\n---\ntext', { memoryType: 'episodic' }],
    ['a rule in the text', 'a\n\n---\n\nb', { content: 'a\n\n---\n\nb' }],
  ])('can be written by a person: %s', async (_, text, expected) => {
    const place = directory()
    writeFileSync(join(place, 'mine.md'), text)
    expect((await new FileMemoryStore(place).list()).get('mine')).toMatchObject(expected)
  })
})

describe('changes that people make to the files', () => {
  it('are noticed at the next read: edits in place, replacements, deletions, new files', async () => {
    const place = directory()
    const store = new FileMemoryStore(place)
    for (const id of ['edited', 'replaced', 'deleted', 'kept']) await store.add(item(id))
    const before = await store.list()
    appendFileSync(join(place, 'edited.md'), 'and more\n')
    writeFileSync(join(place, 'other'), 'another text')
    renameSync(join(place, 'other'), join(place, 'replaced.md'))
    unlinkSync(join(place, 'deleted.md'))
    writeFileSync(join(place, 'added.md'), 'a new one')
    const after = await store.list()
    expect([...after.keys()].toSorted()).toEqual(['added', 'edited', 'kept', 'replaced'])
    expect(after.get('edited')?.content).toBe('what edited says\nand more')
    expect(after.get('replaced')?.content).toBe('another text')
    expect(after.get('kept')).toBe(before.get('kept'))
    expect(await store.list()).toBe(after)
  })

  it('are noticed by name for items that are about to be shown', async () => {
    const place = directory()
    const store = new FileMemoryStore(place)
    await store.add(item('a'))
    await store.list()
    expect(await store.changed(['a'])).toBe(false)
    appendFileSync(join(place, 'a.md'), 'more')
    expect(await store.changed(['a'])).toBe(true)
    unlinkSync(join(place, 'a.md'))
    expect(await store.changed(['a', 'never'])).toBe(true)
    expect((await store.list()).size).toBe(0)
  })

  it('are noticed however soon after the last read, also with a coarse clock', async () => {
    const place = directory()
    const factsAt: typeof nodeFiles.factsAt = (path) => {
      const facts = nodeFiles.factsAt(path)
      return facts && { ...facts, mtimeMs: Math.floor(facts.mtimeMs / 10) * 10 }
    }
    const store = new FileMemoryStore(place, { files: { ...nodeFiles, factsAt } })
    for (let at = 0; at < 50; at++) {
      writeFileSync(join(place, `n${at}.md`), 'x')
      expect((await store.list()).size).toBe(at + 1)
    }
  })

  it('can remove the directory itself', async () => {
    const place = directory()
    const store = new FileMemoryStore(place)
    await store.add(item('a'))
    rmSync(place, { recursive: true })
    expect((await store.list()).size).toBe(0)
    await store.add(item('b'))
    expect([...(await store.list()).keys()]).toEqual(['b'])
  })
})

describe('a file that is not an item', () => {
  it('is skipped and reported: links, directories, files that are too large or not YAML', async () => {
    const place = directory()
    const outside = join(directory(), 'secret.md')
    writeFileSync(outside, 'a secret of another user')
    symlinkSync(outside, join(place, 'link.md'))
    mkdirSync(join(place, 'folder.md'))
    writeFileSync(join(place, 'large.md'), 'x'.repeat(70_000))
    writeFileSync(join(place, 'broken.md'), '---\ntags: [a\n---\ntext')
    writeFileSync(join(place, 'good.md'), 'good')
    const store = new FileMemoryStore(place)
    expect([...(await store.list()).keys()]).toEqual(['good'])
    const problems = store.problems().toSorted()
    expect(problems.map((problem) => problem.split(' is skipped: ')[0])).toEqual([
      'broken.md',
      'folder.md',
      'large.md',
      'link.md',
    ])
    expect(problems[3]).toContain('symbolic link')
    expect(problems.join()).not.toContain('a secret')
    writeFileSync(join(place, 'broken.md'), 'mended')
    await store.list()
    expect(store.problems()).toHaveLength(3)
  })

  it('does not block when it is a pipe', async () => {
    const place = directory()
    execFileSync('mkfifo', [join(place, 'pipe.md')])
    writeFileSync(join(place, '.hidden.md'), 'x')
    writeFileSync(join(place, 'notes.txt'), 'x')
    writeFileSync(join(place, 'empty.md'), '')
    expect((await new FileMemoryStore(place).list()).size).toBe(0)
  })

  it('cannot be created where a link is, nor through one', async () => {
    const place = directory()
    const outside = join(directory(), 'target.md')
    symlinkSync(outside, join(place, 'a.md'))
    await expect(new FileMemoryStore(place).add(item('a'))).rejects.toMatchObject({ code: 'memory_exists' })
    expect(() => readFileSync(outside)).toThrow('ENOENT')
  })

  it('is removed when it is a temporary file of a process that ended long ago', async () => {
    const place = directory()
    for (const name of ['.draft-old', '.draft-new']) writeFileSync(join(place, name), 'half an it')
    const longAgo = new Date('2020-01-01')
    utimesSync(join(place, '.draft-old'), longAgo, longAgo)
    const store = new FileMemoryStore(place)
    expect((await store.list()).size).toBe(0)
    await store.add(item('a'))
    expect(readdirSync(place).toSorted()).toEqual(['.draft-new', 'a.md'])
  })
})

describe('a disk error', () => {
  it.each([
    ['ENOSPC', 'memory_full', 'free some'],
    ['EACCES', 'memory_unwritable', 'permission'],
    ['EROFS', 'memory_unwritable', 'another directory'],
    ['EIO', 'memory_failed', 'refused'],
  ])('is reported with a message, and leaves nothing behind: %s', async (errno, code, words) => {
    const place = directory()
    const fails = (): never => {
      throw Object.assign(new Error(errno), { code: errno })
    }
    const broken = new FileMemoryStore(place, { files: { ...nodeFiles, write: fails } })
    await expect(broken.add(item('a'))).rejects.toMatchObject({
      code,
      message: expect.stringContaining(words),
    })
    expect(readdirSync(place)).toEqual([])
  })

  it('does not acknowledge data that was not synced', async () => {
    const place = directory()
    const fails = async (): Promise<never> => {
      throw Object.assign(new Error('EIO'), { code: 'EIO' })
    }
    const broken = new FileMemoryStore(place, { files: { ...nodeFiles, sync: fails } })
    await expect(broken.add(item('a'))).rejects.toMatchObject({ code: 'memory_failed' })
    expect(readdirSync(place)).toEqual([])
  })

  it('is reported when a file has the name of the directory', async () => {
    const place = join(directory(), 'file')
    writeFileSync(place, '')
    const store = new FileMemoryStore(place)
    await expect(store.add(item('a'))).rejects.toMatchObject({ code: 'memory_unwritable' })
    await expect(store.list()).rejects.toMatchObject({ code: 'memory_unwritable' })
  })
})
