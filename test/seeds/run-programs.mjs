// @ts-nocheck: plain JavaScript, run as it is.
// Runs the programs of the samples, several at a time, and prints the outcome of each as JSON. Started by
// samples.test.ts.
import { writeSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { closeAll } from './harness.mjs'

const [, , ...files] = process.argv
const outcomes = {}
const queue = [...files]

async function work() {
  for (let file = queue.shift(); file !== undefined; file = queue.shift()) {
    try {
      const { default: program } = await import(pathToFileURL(file).href)
      await program()
      outcomes[file] = 'passed'
    } catch (error) {
      outcomes[file] = error instanceof Error ? `${error.stack}` : String(error)
    }
  }
}
await Promise.all([work(), work(), work()])
await closeAll()
writeSync(3, JSON.stringify(outcomes))
// A closed session leaves nothing: the process ends by itself.
