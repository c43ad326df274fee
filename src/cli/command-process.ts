import { closeSync, openSync } from 'node:fs'
import { devNull } from 'node:os'
import { isatty, type WriteStream } from 'node:tty'
import type { Io } from './io.js'
import { runCli } from './run-cli.js'

/** Runs the command as a process, with its signals and streams. Returns the exit code when everything is written. */
export async function runProcess(argv: readonly string[]): Promise<number> {
  releaseLostTerminal()
  const stopping = new AbortController()
  let isStopping = false
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(name, () => {
      // The first signal starts a graceful shutdown; the second ends the process at once. A closed terminal can send
      // more than one SIGHUP, which does not count as a second signal.
      if (isStopping && name !== 'SIGHUP') process.exit(name === 'SIGINT' ? 130 : 143)
      isStopping = true
      stopping.abort(name)
    })
  let isLost = false
  const failed = (error: NodeJS.ErrnoException): void => {
    // EIO: the terminal was closed.
    if (error.code !== 'EPIPE' && error.code !== 'EIO' && !isLost) {
      isLost = true
      withErrorListener(process.stderr).write(`capstan: Cannot write the output: ${error.message}\n`)
    }
    // A reader that closes the pipe (`capstan sessions | head`) ends the command without a message.
    stopping.abort('SIGPIPE')
  }
  const code = await runCli(argv, ioOf(stopping.signal, failed))
  const shown = isLost ? code || 1 : code
  process.exitCode = shown
  // Handles that a library left open must not delay the end of the process.
  setTimeout(() => process.exit(), 2_000).unref()
  return shown
}

/**
 * When the process ends, Node restores the settings of each terminal that it started with, and aborts with an assertion
 * when the terminal was closed meanwhile. It skips descriptors that refer to another file by then, so those of a closed
 * terminal are replaced by the null device.
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
        // Another part of the process has closed it; Node skips it as well.
      }
    }
  })
}

/** Creates the streams of the command. Each is opened only when it is used, because opening one takes milliseconds. */
function ioOf(signal: AbortSignal, failed: (error: NodeJS.ErrnoException) => void): Io {
  const stdout = (): WriteStream => withErrorListener(process.stdout, failed)
  return {
    get stdin() {
      return process.stdin
    },
    stdinFd: 0,
    get stdout() {
      return stdout()
    },
    get stderr() {
      return withErrorListener(process.stderr)
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

/** Adds an error listener on first use. Errors are ignored by default: a closed stderr does not stop the command. */
function withErrorListener(
  stream: WriteStream,
  failed: (error: NodeJS.ErrnoException) => void = () => undefined,
): WriteStream {
  return stream.listenerCount('error') > 0 ? stream : stream.on('error', failed)
}
