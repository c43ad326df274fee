import { lstatSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryDirectory } from '../../../../test/support/temporary-directory.js'
import { openHistory } from './history.js'

function place(): string {
  const made = temporaryDirectory()
  return made
}

describe('the history', () => {
  it('is saved with multi-line entries, in a private file', async () => {
    const userDir = join(place(), 'user')
    const first = await openHistory(userDir)
    await first.add('one\ntwo')
    await first.add('one\ntwo')
    await first.add(' a secret, with a blank before it')
    await first.add('three')
    expect((await openHistory(userDir)).entries).toEqual(['one\ntwo', 'three'])
    if (process.platform !== 'win32') expect(statSync(join(userDir, 'history')).mode & 0o777).toBe(0o600)
  })

  it('has the entries of two sessions', async () => {
    const userDir = place()
    const [one, other] = [await openHistory(userDir), await openHistory(userDir)]
    await Promise.all([one.add('from one'), other.add('from the other')])
    expect([...(await openHistory(userDir)).entries].sort()).toEqual(['from one', 'from the other'])
  })

  it('has a limited size, and ignores invalid lines', async () => {
    const userDir = place()
    const lines = Array.from({ length: 3_000 }, (_, at) => JSON.stringify({ text: `entry ${at}` }))
    writeFileSync(join(userDir, 'history'), ['{"text":', '[]', 'nonsense', ...lines].join('\n'))
    await (await openHistory(userDir)).add('last')
    const { entries } = await openHistory(userDir)
    expect(entries).toHaveLength(1_000)
    expect(entries.at(-1)).toBe('last')
  })

  it('does not follow a symbolic link', async () => {
    const userDir = place()
    const elsewhere = join(place(), 'elsewhere')
    writeFileSync(elsewhere, 'mine\n')
    symlinkSync(elsewhere, join(userDir, 'history'))
    await (await openHistory(userDir)).add('words')
    expect(readFileSync(elsewhere, 'utf8')).toBe('mine\n')
    expect(lstatSync(join(userDir, 'history')).isSymbolicLink()).toBe(false)
  })
})
