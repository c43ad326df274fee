// @ts-nocheck: plain JavaScript, run as it is.
// Runs programs one after the other in this process. Each begins when the event loop of the one before is empty, which
// is where a process of its own would have ended. Started by docs-programs.ts with an order.
import { writeSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

const { programs, mark } = JSON.parse(process.argv[2])
const environment = { ...process.env }
const maxMs = 60_000
let at = -1
let isLoading = false
let watch

/** Ends what the program printed, with its exit code. */
function report(code) {
  for (const stream of [1, 2]) writeSync(stream, `${mark} ${code}\n`)
}

function next() {
  clearTimeout(watch)
  if (isLoading) {
    console.error('a top-level await never settles')
    process.exit(13)
  }
  if (at >= 0) report(process.exitCode ?? 0)
  at += 1
  process.exitCode = undefined
  if (at === programs.length) {
    process.off('beforeExit', next)
    return
  }
  for (const name of Object.keys(process.env)) if (!(name in environment)) delete process.env[name]
  Object.assign(process.env, environment)
  const { script, cwd } = programs[at]
  process.chdir(cwd)
  process.argv.splice(1, Number.POSITIVE_INFINITY, script)
  watch = setTimeout(() => {
    console.error(`it takes longer than ${maxMs / 1000} s`)
    process.exit(1)
  }, maxMs).unref()
  isLoading = true
  // An exception ends the process, as it would end a process of its own.
  import(pathToFileURL(script).href).then(() => {
    isLoading = false
  })
}
process.on('beforeExit', next)
