import { closeSync, openSync } from 'node:fs'
import { devNull } from 'node:os'
import { isatty, type WriteStream } from 'node:tty'
import type { Io } from './io.js'
import { runCli } from './run-cli.js'

/** The command as a process: its signals, its streams and its exit code. Gives the exit code when all is said and written. */
export async function runProcess(argv: readonly string[]): Promise<number> {
  releaseLostTerminal()
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
  const failed = (error: NodeJS.ErrnoException): void => {
    // EIO: the terminal was closed.
    if (error.code !== 'EPIPE' && error.code !== 'EIO' && !isLost) {
      isLost = true
      heard(process.stderr).write(`capstan: The output cannot be written: ${error.message}\n`)
    }
    // A reader that goes away (`capstan sessions | head`) ends the work quietly.
    stopping.abort('SIGPIPE')
  }
  const code = await runCli(argv, ioOf(stopping.signal, failed))
  const shown = isLost ? code || 1 : code
  process.exitCode = shown
  // What a library may have left open must not keep a script waiting.
  setTimeout(() => process.exit(), 2_000).unref()
  return shown
}

/**
 * When the process ends, Node restores the settings of each terminal that it started with, and aborts with an assertion when the terminal
 * was closed meanwhile. It leaves out descriptors that are another file by then, so those of a closed terminal become the null device.
 */
function releaseLostTerminal(): void {
  if (process.platform === 'win32') return
  const terminals = [0, 1, 2].filter((fd) => isatty(fd))
  if (terminals.length === 0) return
  process.once('exit', () => {
    for (const fd of terminals.filter((each) => !isatty(each))) {
      try {
        closeSync(fd)
        // The lowest free descriptor is the one that was just closed.
        openSync(devNull, fd === 0 ? 'r' : 'w')
      } catch {
        // Another part of the process has closed it: Node leaves it out as well.
      }
    }
  })
}

/** Streams are looked at only when they are needed: each costs milliseconds to open. */
function ioOf(signal: AbortSignal, failed: (error: NodeJS.ErrnoException) => void): Io {
  const stdout = (): WriteStream => heard(process.stdout, failed)
  return {
    get stdin() {
      return process.stdin
    },
    stdinFd: 0,
    get stdout() {
      return stdout()
    },
    get stderr() {
      return heard(process.stderr)
    },
    env: process.env,
    cwd: process.cwd(),
    isTTY: {
      get stdin() {
        return isatty(0)
      },
      get stdout() {
        return isatty(1)
      },
      get stderr() {
        return isatty(2)
      },
    },
    columns: () => stdout().columns || 80,
    signal,
  }
}

/**
 * With a listener for errors from its first use. Nobody has to read what is told beside the work: when that cannot be written, the work
 * goes on.
 */
function heard(
  stream: WriteStream,
  failed: (error: NodeJS.ErrnoException) => void = () => undefined,
): WriteStream {
  return stream.listenerCount('error') > 0 ? stream : stream.on('error', failed)
}
