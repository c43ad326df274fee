import { describe, expect, it } from 'vitest'
import { startRegexThread } from './regex-thread.js'
import type { WorkerAnswer } from './regex-worker.js'

const never = new Promise<void>(() => undefined)
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const asked = { keep: 9, before: 0, after: 0 }

function threadFor(source: string, stopped = never): ReturnType<typeof startRegexThread> {
  return startRegexThread({ source, flags: '', literal: '', maxLine: 100, exact: false }, stopped)
}

async function countIn(source: string, text: string): Promise<number | undefined> {
  const thread = await threadFor(source)
  const answer: WorkerAnswer | undefined = await thread.search({ files: [bytes(text)], ...asked })
  await thread.close()
  return answer?.[0]?.count
}

describe('the thread of a search', () => {
  it('has the pattern of its own search, one after the other and at the same time', async () => {
    for (const [source, count] of [
      ['a', 2],
      ['b', 1],
      ['c', 0],
    ] as const)
      expect(await countIn(source, 'a\nab\n'), source).toBe(count)
    expect(await Promise.all(['a', 'b', 'c'].map((source) => countIn(source, 'a\nab\n')))).toEqual([2, 1, 0])
  })

  it('is not used again after a search that was stopped or has failed', async () => {
    const endless = await threadFor('^(a+)+$', Promise.resolve())
    expect(await endless.search({ files: [bytes(`${'a'.repeat(60)}b`)], ...asked })).toBeUndefined()
    await endless.close()
    expect(await countIn('a', 'a\n')).toBe(1)
    const broken = await threadFor('(')
    await expect(broken.search({ files: [bytes('a')], ...asked })).rejects.toMatchObject({
      code: 'search_failed',
    })
    await broken.close()
    expect(await countIn('a', 'a\n')).toBe(1)
  })
})
