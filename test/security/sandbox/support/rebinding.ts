import { execFileSync } from 'node:child_process'
import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SandboxBackend } from '../../../../src/workspace/sandbox/backends.js'

export type RebindingRequest = {
  readonly backend: SandboxBackend
  readonly place: string
  readonly publicAddress: string
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

/** Runs commands of a workspace on a machine with this name server, and reports where they arrived. */
export function runWithNames(compiled: string, request: RebindingRequest): RebindingAnswer {
  const resolv = join(request.place, 'resolv.conf')
  writeFileSync(resolv, 'nameserver 127.0.0.1\noptions timeout:2 attempts:2\n')
  copyFileSync(join(import.meta.dirname, 'rebinding-host.mjs'), join(compiled, 'rebinding-host.mjs'))
  const script = [
    'set -e',
    'ip link set lo up',
    `ip address add ${request.publicAddress}/32 dev lo`,
    'mount --bind "$1" /etc/resolv.conf',
    'shift',
    'exec "$@"',
  ].join('\n')
  const host = [process.execPath, join(compiled, 'rebinding-host.mjs'), compiled, JSON.stringify(request)]
  const env = { PATH: process.env['PATH'] ?? '/usr/bin:/bin', HOME: request.place }
  const said = execFileSync(own[0] ?? '', [...own.slice(1), 'sh', '-c', script, 'sh', resolv, ...host], {
    env,
    encoding: 'utf8',
    timeout: 120_000,
  })
  return JSON.parse(said) as RebindingAnswer
}
