import { spawn } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Envelope } from '../../src/tool/envelope.js'
import { globTool } from '../../src/toolbox/glob.js'
import { grepTool } from '../../src/toolbox/grep.js'
import { createLocalSearch } from '../../src/workspace/search/index.js'
import { factor } from '../support/fault-factor.js'
import { sharedDirectory } from '../support/temporary-directory.js'

/** 10,000 files; `npm run faults` makes it 50,000. */
const directories = factor > 1 ? 500 : 100
const filesEach = 100
const fileCount = directories * filesEach
const root = join(sharedDirectory(), 'work')

beforeAll(() => {
  for (let at = 0; at < directories; at += 1) {
    const directory = join(root, `part-${at % 20}`, `d${at}`)
    mkdirSync(directory, { recursive: true })
    for (let file = 0; file < filesEach; file += 1) {
      const text = `const a = ${file}\nexport const needle${at} = ${file}\n`
      writeFileSync(join(directory, `f${file}.${file % 4 === 0 ? 'ts' : 'js'}`), text)
    }
    // Every directory leads back to the top: a search that follows links never ends.
    symlinkSync(root, join(directory, 'back'))
  }
})

const lend = (deadlineMs = 120_000) => ({
  runtime: { search: createLocalSearch({ root, permit: () => undefined, deadlineMs }) },
})
const headOf = (envelope: Envelope): string => {
  const { data } = envelope as { data: string | { head: string } }
  return typeof data === 'string' ? data : data.head
}

describe(`a tree of ${fileCount} files with link loops`, () => {
  it('is searched in full: all matches are counted, and the limit is reported', async () => {
    const envelope = await grepTool.execute({ pattern: 'needle' }, lend())
    expect(envelope.metadata).toMatchObject({ matches: fileCount, files: fileCount, truncated: true })
    expect(headOf(envelope)).toContain(
      `Found ${fileCount} match(es) in ${fileCount} file(s) (output truncated`,
    )
    expect(headOf(envelope).match(/^>/gm)).toHaveLength(200)
  })

  it('is searched for one line', async () => {
    const envelope = await grepTool.execute({ pattern: `needle${directories - 1} = 99$` }, lend())
    expect(headOf(envelope)).toBe(
      `>part-19/d${directories - 1}/f99.js:2: export const needle${directories - 1} = 99\n\n1 match(es) in 1 file(s)`,
    )
  })

  it('is listed, and an incomplete list is marked', async () => {
    const all = await globTool.execute({ pattern: '**' }, lend())
    expect(headOf(all)).toContain(`1000 of ${fileCount} file(s) shown: the list is cut.`)
    const some = await globTool.execute({ pattern: 'f0.ts', order: 'newest' }, lend())
    expect(headOf(some)).toContain(`${directories} of ${directories} file(s) shown`)
  })

  it('ends at the deadline, with the results so far and a note', async () => {
    for (const tool of [grepTool, globTool]) {
      let envelope = await tool.execute({ pattern: 'needle' }, lend(1))
      // On a busy machine a search can end before this process runs again and its timer is due.
      for (let tries = 0; tries < 20 && envelope.metadata['incomplete'] === undefined; tries++)
        envelope = await tool.execute({ pattern: 'needle' }, lend(1))
      expect(headOf(envelope)).toContain('Incomplete: The search was stopped after 1 ms')
      expect(envelope.metadata['incomplete']).toBeDefined()
    }
  })

  it('ends when the run is aborted', async () => {
    const stop = new AbortController()
    const running = grepTool.execute({ pattern: 'needle' }, { ...lend(), signal: stop.signal })
    stop.abort()
    expect(headOf(await running)).toContain('Incomplete: The search was stopped before it was done.')
  })

  it('can lose files while it is searched', async () => {
    const remover = spawn('rm', ['-rf', join(root, 'part-3'), join(root, 'part-4')], { stdio: 'ignore' })
    const gone = new Promise((done) => remover.once('close', done))
    const [found, listed] = await Promise.all([
      grepTool.execute({ pattern: 'needle', output_mode: 'count' }, lend()),
      globTool.execute({ pattern: '*.ts' }, lend()),
    ])
    await gone
    for (const envelope of [found, listed]) expect(envelope.type).toBe('output')
    const after = await globTool.execute({ pattern: '**' }, lend())
    expect(headOf(after)).toContain(`1000 of ${0.9 * fileCount} file(s) shown`)
  })
})
