import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { onTestFinished } from 'vitest'
import { startHost } from '../support/host-process.js'

/** Whether network namespaces can be made here. For `describe.skipIf`; prints why tests are skipped. */
export function hasNetworks(): boolean {
  const name = `capstan-${randomBytes(3).toString('hex')}`
  try {
    ip('netns', 'add', name)
    ip('netns', 'del', name)
    return true
  } catch {
    console.warn('SKIPPED: the tests with network namespaces. They need root, and the command ip (iproute2).')
    return false
  }
}

/** A host of a {@link startNetwork}: a namespace with one link to the database, and one to everything else. */
export type NetworkHost = {
  /** The command that starts a program in the namespace, with its arguments in front. */
  readonly under: readonly string[]
  readonly databaseAddress: string
  readonly otherAddress: string
  /** Cuts or restores the link to the database. Nothing is refused or reset: packets are lost. */
  setDatabaseLink(state: 'up' | 'down'): void
}

export const databasePort = 5432
export const otherPort = 8080

/**
 * Namespaces around a hub. In the hub a process forwards to two sockets in files: that of the database, and another.
 * All addresses are inside of the namespaces, which are removed after the test.
 */
export async function startNetwork(count: number, databaseSocket: string, otherSocket: string) {
  const id = randomBytes(3).toString('hex')
  const made: string[] = []
  /** What is done inside of each namespace: one process does all of it. */
  const inside = new Map<string, string[]>()
  const namespace = (name: string): string => {
    const full = `capstan-${id}-${name}`
    ip('netns', 'add', full)
    made.push(full)
    inside.set(full, ['link set lo up'])
    return full
  }
  onTestFinished(() => {
    for (const name of made) ip('netns', 'del', name)
  })
  const hub = namespace('hub')
  const hosts: NetworkHost[] = []
  const ports: { host: string; port: number; path: string }[] = []
  for (let at = 0; at < count; at++) {
    const own = namespace(`host${at}`)
    const [database = '', other = ''] = ['d', 'o'].map((kind, link) => {
      const [here, there] = [`${kind}${at}`, `c${kind}${at}`]
      const net = `10.213.${at * 2 + link}`
      inside
        .get(hub)
        ?.push(
          `link add ${here} type veth peer name ${there} netns ${own}`,
          `addr add ${net}.1/30 dev ${here}`,
          `link set ${here} up`,
        )
      inside.get(own)?.push(`addr add ${net}.2/30 dev ${there}`, `link set ${there} up`)
      return `${net}.1`
    })
    ports.push(
      { host: database, port: databasePort, path: databaseSocket },
      { host: other, port: otherPort, path: otherSocket },
    )
    hosts.push({
      under: ['ip', 'netns', 'exec', own],
      databaseAddress: database,
      otherAddress: other,
      setDatabaseLink: (state) => ip('-n', hub, 'link', 'set', `d${at}`, state),
    })
  }
  // The hub comes first: it makes the links.
  for (const [name, lines] of inside)
    execFileSync('ip', ['-n', name, '-batch', '-'], {
      input: lines.join('\n'),
      stdio: ['pipe', 'ignore', 'pipe'],
    })
  const forwarder = startHost('cluster/network-host.mjs', ports, [], ['ip', 'netns', 'exec', hub])
  onTestFinished(async () => {
    forwarder.child.kill('SIGKILL')
    await forwarder.exited
  })
  await forwarder.next()
  return hosts
}

function ip(...args: readonly string[]): void {
  execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'pipe'] })
}
