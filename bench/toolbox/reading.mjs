// `read` in the middle of a large file: what it takes in memory, and that it does not grow with the file.
import { closeSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { readTool } from 'capstan/toolbox'
import { spread } from '../measure.mjs'
import { figure, printTable } from '../report.mjs'

const megabytes = 100

/**
 * @param {string} root
 * @param {import('capstan/tool').ToolRuntime} runtime
 * @param {number} rounds
 */
export async function measureReading(root, runtime, rounds) {
  const line = `${'x'.repeat(99)}\n`
  const file = openSync(join(root, 'large.txt'), 'w')
  const block = Buffer.from(line.repeat(10_486))
  for (let at = 0; at < megabytes; at += 1) writeSync(file, block)
  closeSync(file)

  const offset = Math.floor((megabytes * 10_486) / 2)
  /** @type {number[]} */
  const millis = []
  const read = async () => {
    const start = performance.now()
    const envelope = await readTool.execute({ file_path: 'large.txt', offset, limit: 2_000 }, { runtime })
    millis.push(performance.now() - start)
    if (envelope.type === 'error') throw new Error(envelope.error_text)
  }
  await read()
  globalThis.gc?.()
  const before = process.memoryUsage.rss()
  let most = before
  for (let round = 0; round < rounds; round += 1) {
    await read()
    most = Math.max(most, process.memoryUsage.rss())
  }
  const grown = (most - before) / 1024 / 1024
  const title = `Reading in the middle of ${megabytes} MB`
  const explanation =
    '2,000 lines from the middle by line number; memory is what the process grew by meanwhile.'
  const { median, p90 } = spread(millis)
  printTable(
    title,
    explanation,
    ['', 'ms', 'p90', 'MB more'],
    [['read', figure(median), figure(p90), figure(grown)]],
  )
  return { area: { title, explanation, rows: [{ name: 'read', millis: spread(millis), grown }] }, grown }
}
