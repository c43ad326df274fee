import { homedir } from 'node:os'
import { join } from 'node:path'
import { Lines } from '../../feature/lines.js'
import { startServerProgram } from '../../workspace/server-program.js'
import { SupervisionError } from '../errors.js'
import { envOf, type StdioTransport, settingsOf } from '../transport.js'
import { maxUnread, type OpenWire } from './wire.js'

/** How many bytes of its standard error are saved, for the error when it exits. */
const complaintBytes = 2_048

/**
 * Starts the program and exchanges lines with it. It belongs to the host and has more permissions than the agent: it
 * is not sandboxed, and its working directory is the host's, not the workspace, whose files an agent can write. It is
 * in the ledger like every process, so it ends with this one.
 */
export function openStdio(transport: StdioTransport): OpenWire {
  const { maxMessageBytes } = settingsOf(transport)
  return async (events) => {
    const path = process.env['PATH']
    const child = await startServerProgram(
      {
        root: transport.cwd ?? process.cwd(),
        ledgerDir: join(homedir(), '.capstan', 'processes'),
        sandbox: 'off',
        sandboxOptions: {},
      },
      {
        argv: [transport.program, ...transport.args],
        env: envOf(transport),
        path,
      },
    )
    let complaints = Buffer.alloc(0)
    let closed = false
    const end = (why: string): void => {
      if (closed) return
      closed = true
      events.closed(why)
      void child.end()
    }
    const lines = new Lines((line) => void events.message(line), maxMessageBytes)
    child.stdout.on('data', (chunk: Buffer) => {
      const problem = closed ? undefined : lines.add(chunk)
      if (problem !== undefined) end(problem)
    })
    child.stderr.on('data', (chunk: Buffer) => {
      complaints = Buffer.concat([complaints, chunk.subarray(-complaintBytes)]).subarray(-complaintBytes)
    })
    // A program that exits reports why at its exit, which follows; one that keeps running can never answer.
    child.stdout.on('end', () => setTimeout(() => end('it closed its output'), exitMs))
    for (const stream of [child.stdout, child.stderr]) stream.on('error', () => end('its stream broke'))
    void child.exit.then(({ exitCode, signal }) => {
      // The last output of the program may still be in the pipe.
      setTimeout(() => {
        const said = complaints.toString('utf8').trim().split('\n').slice(-3).join(' | ')
        const how = signal === undefined ? `it ended with exit code ${exitCode}` : `it was ended by ${signal}`
        end(said === '' ? how : `${how}; it said: ${said}`)
      }, drainMs)
    })
    return {
      send(text) {
        if (child.stdin.writableLength > maxUnread * maxMessageBytes)
          throw new SupervisionError('supervision_protocol', 'it does not read its input')
        child.stdin.write(`${text}\n`)
      },
      async close() {
        end('it was disconnected')
        await child.end()
      },
    }
  }
}

const drainMs = 20
const exitMs = 200
