import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { SandboxBackend } from '../../../../src/workspace/sandbox/backends.js'

export type RebindingRequest = {
  readonly backend: SandboxBackend
  readonly place: string
  /** For each name its answers, one after the other: addresses, with `cname:NAME` in front of them. */
  readonly names: Readonly<Record<string, readonly (readonly string[])[]>>
  readonly allowHosts: readonly string[]
  readonly allowPrivate?: boolean
  readonly commands: readonly string[]
}

export type RebindingAnswer = {
  readonly outputs: readonly string[]
  /** What arrived at the two servers. */
  readonly served: readonly string[]
  /** The names that were asked for, one entry for each question. */
  readonly asked: readonly string[]
}

const own = ['unshare', '--user', '--map-root-user', '--mount', '--net', '--']

/** Whether this user can have a network and mounts of its own, with an interface that takes addresses. */
export function canHaveOwnNetwork(): boolean {
  try {
    execFileSync(own[0] ?? '', [
      ...own.slice(1),
      'sh',
      '-c',
      'ip link set lo up && mount --bind /etc/hosts /etc/hosts',
    ])
    return true
  } catch {
    return false
  }
}

export type RebindingHost = {
  /** Runs commands of a workspace on a machine with this name server, and reports where they arrived. */
  run(request: RebindingRequest): Promise<RebindingAnswer>
  end(): Promise<void>
}

/** Starts a machine with its own network and name server. It serves requests one after the other. */
export function startRebindingHost(compiled: string, place: string, publicAddress: string): RebindingHost {
  const resolv = join(place, 'resolv.conf')
  writeFileSync(resolv, 'nameserver 127.0.0.1\noptions timeout:2 attempts:2\n')
  copyFileSync(join(import.meta.dirname, 'rebinding-host.mjs'), join(compiled, 'rebinding-host.mjs'))
  const script = [
    'set -e',
    'ip link set lo up',
    `ip address add ${publicAddress}/32 dev lo`,
    'mount --bind "$1" /etc/resolv.conf',
    'shift',
    'exec "$@"',
  ].join('\n')
  const program = [process.execPath, join(compiled, 'rebinding-host.mjs'), compiled, publicAddress]
  const env = { PATH: process.env['PATH'] ?? '/usr/bin:/bin', HOME: place }
  const host = spawn(own[0] ?? '', [...own.slice(1), 'sh', '-c', script, 'sh', resolv, ...program], {
    env,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const gone = once(host, 'exit')
  const lines = createInterface({ input: host.stdout })[Symbol.asyncIterator]()
  return {
    async run(request) {
      host.stdin.write(`${JSON.stringify(request)}\n`)
      const { value, done } = await lines.next()
      if (done === true) throw new Error('the host has gone')
      return JSON.parse(value) as RebindingAnswer
    },
    async end() {
      host.stdin.end()
      await gone
    },
  }
}
