import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import type { ShellOutcome } from '../../../../src/tool/runtime.js'
import type { DoctorCheck } from '../../../../src/workspace/sandbox/doctor.js'
import type { DetectOptions } from '../../../../src/workspace/sandbox/probe.js'
import type { LocalShellOptions } from '../../../../src/workspace/shell/local-shell.js'

export type HostRequest = {
  readonly shell?: LocalShellOptions
  readonly env?: Readonly<Record<string, string>>
  readonly runs?: readonly (
    | string
    | { readonly command: string; readonly timeoutMs?: number; readonly cwd?: string }
  )[]
  readonly jobs?: readonly string[]
  readonly doctor?: DetectOptions
  readonly linger?: boolean
}
export type HostLine = {
  readonly started?: true
  readonly outcome?: ShellOutcome
  readonly doctor?: DoctorCheck[]
  readonly error?: string
  readonly done?: true
}

/** Starts a host that serves one request, as a process of its own. */
export function startHost(
  compiled: string,
  request: HostRequest,
): ChildProcessByStdio<Writable, Readable, null> {
  return spawnHost([process.execPath, join(compiled, 'host.mjs'), compiled, JSON.stringify(request)])
}

export type Host = {
  /** Everything the host says to one request. */
  ask(request: HostRequest): Promise<HostLine[]>
  end(): Promise<void>
}

/** A host that serves requests one after the other, as ourselves or, with the words in front, as someone else. */
export function serveHost(compiled: string, front: readonly string[] = []): Host {
  const host = spawnHost([...front, process.execPath, join(compiled, 'host.mjs'), compiled])
  const lines = createInterface({ input: host.stdout })[Symbol.asyncIterator]()
  return {
    async ask(request) {
      host.stdin.write(`${JSON.stringify(request)}\n`)
      const answer: HostLine[] = []
      for (;;) {
        const { value, done } = await lines.next()
        if (done === true) throw new Error('the host has gone')
        const line = JSON.parse(value) as HostLine
        answer.push(line)
        if (line.done === true) return answer
      }
    },
    async end() {
      const gone = once(host, 'exit')
      host.stdin.end()
      await gone
    },
  }
}

function spawnHost([file = process.execPath, ...args]: readonly string[]): ChildProcessByStdio<
  Writable,
  Readable,
  null
> {
  const env = { PATH: process.env['PATH'] ?? '/usr/bin:/bin' }
  return spawn(file, args, { cwd: '/', env, stdio: ['pipe', 'pipe', 'inherit'] })
}
