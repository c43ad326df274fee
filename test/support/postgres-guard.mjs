// Runs the Postgres server that the tests of one run share, and ends it when the run has ended, however it ends.
// Started by postgres.ts with a directory and the process id of the run.
import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { copyData, createServer, startServer } from './postgres-server.mjs'

const [directory = '', run = ''] = process.argv.slice(2)
process.on('SIGINT', () => undefined)
try {
  const files = createServer(directory)
  // For the private servers of the run.
  const prepared = join(directory, 'prepared')
  copyData(files.data, prepared)
  const server = await startServer(files)
  report({ url: files.url, prepared })
  while (isAlive(Number(run))) await wait(500)
  await server.stop('immediate')
  rmSync(directory, { recursive: true, force: true, maxRetries: 5 })
} catch (error) {
  report({ problem: String(error) })
}

/** @param {object} answer */
function report(answer) {
  writeFileSync(join(directory, 'answer.tmp'), JSON.stringify(answer))
  renameSync(join(directory, 'answer.tmp'), join(directory, 'answer.json'))
}

/** @param {number} pid */
function isAlive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
