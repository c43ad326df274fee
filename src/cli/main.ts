#!/usr/bin/env node
import type { Io } from './io.js'
import { packageVersion } from './version.js'

// The bin of the package. It loads next to nothing by itself, so that it is there at once.
const argv = process.argv.slice(2)
if (argv.length === 1 && (argv[0] === '--version' || argv[0] === '-V')) console.log(packageVersion())
else await start()

async function start(): Promise<void> {
  const stopping = new AbortController()
  let asked = false
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(name, () => {
      // The first is a request; whoever asks twice does not want to wait for what is being put in order.
      // A terminal that is closed says so in more than one way, and that is no second request.
      if (asked && name !== 'SIGHUP') process.exit(name === 'SIGINT' ? 130 : 143)
      asked = true
      stopping.abort(name)
    })
  let isLost = false
  // A reader that goes away (`capstan sessions | head`) ends the work quietly.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // EIO: the terminal was closed.
    if (error.code !== 'EPIPE' && error.code !== 'EIO' && !isLost) {
      isLost = true
      heard(process.stderr).write(`capstan: The output cannot be written: ${error.message}\n`)
    }
    stopping.abort('SIGPIPE')
  })
  const { runCli } = await import('./run-cli.js')
  const code = await runCli(argv, ioOf(stopping.signal))
  process.exitCode = isLost ? code || 1 : code
  // All is said and written. What a library may have left open must not keep a script waiting.
  setTimeout(() => process.exit(), 2_000).unref()
}

/** Streams are looked at only when they are needed: each costs milliseconds to open. */
function ioOf(signal: AbortSignal): Io {
  return {
    get stdin() {
      return process.stdin
    },
    get stdout() {
      return process.stdout
    },
    get stderr() {
      return heard(process.stderr)
    },
    env: process.env,
    cwd: process.cwd(),
    isTTY: {
      get stdin() {
        return process.stdin.isTTY === true
      },
      get stdout() {
        return process.stdout.isTTY === true
      },
      get stderr() {
        return process.stderr.isTTY === true
      },
    },
    columns: () => process.stdout.columns || 80,
    signal,
  }
}

/** Nobody has to read what is told beside the work: when that cannot be written, the work goes on. */
function heard(stream: typeof process.stderr): typeof process.stderr {
  return stream.listenerCount('error') > 0 ? stream : stream.on('error', () => undefined)
}
