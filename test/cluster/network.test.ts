/** FT-45: workers on several hosts, in network namespaces of their own, and one that is cut off from the database. */
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { hasPostgres } from '../support/postgres.js'
import { temporaryDirectory } from '../support/temporary-directory.js'
import { databasePort, hasNetworks, otherPort, startNetwork } from './network.js'
import { cluster, minutes } from './support.js'

const poll = { timeout: 5 * minutes }

describe.skipIf(!hasPostgres() || !hasNetworks())('FT-45: a worker that is cut off from the database', () => {
  it(
    'loses its runs to the others, has no effect twice, and works again when the network does',
    async () => {
      const { url, client, queue, workerAt, modelUrl, lines } = await cluster({ thinkMs: 200 })
      const socket = `${new URL(url).searchParams.get('host')}/.s.PGSQL.5432`
      const hosts = await startNetwork(3, socket, await socketTo(modelUrl))
      const start = (at: number) => {
        const host = hosts[at]
        if (host === undefined) throw new Error('there is no such host')
        const place = {
          under: host.under,
          databaseUrl: `postgres://capstan@${host.databaseAddress}:${databasePort}${new URL(url).pathname}`,
          modelUrl: `http://${host.otherAddress}:${otherPort}`,
        }
        return workerAt(place, '--mode', 'full', '--slots', '4')
      }
      const cutOff = await start(0)
      const runs = await Promise.all(
        Array.from({ length: 6 }, (_, at) => client.submit({ prompt: `run-${at} x6` })),
      )
      await expect.poll(() => lines().length, poll).toBeGreaterThan(3)
      hosts[0]?.setDatabaseLink('down')
      const others = [await start(1), await start(2)]
      // It still reaches the model, so it would continue with what it has.
      const isCompleted = async (runId: string) => (await client.get(runId))?.state === 'completed'
      for (const { runId } of runs) await expect.poll(() => isCompleted(runId), poll).toBe(true)
      const { takeovers, nodes } = await queue.status()
      expect(takeovers).toBeGreaterThan(0)
      expect(nodes.map(({ id }) => id)).not.toContain(cutOff.nodeId)
      // Only the one that was cut off is left for the next runs.
      for (const { child, ended } of others) {
        child.kill('SIGTERM')
        expect(await ended).toBe(0)
      }
      hosts[0]?.setDatabaseLink('up')
      const later = await client.submit({ prompt: 'later x2' })
      await expect.poll(() => isCompleted(later.runId), poll).toBe(true)
      const all = lines()
      expect(new Set(all).size, 'a call was made twice').toBe(all.length)
      expect(all).toEqual(expect.arrayContaining(['later-1', 'later-2']))
    },
    10 * minutes,
  )
})

/** A socket in a file that leads to an address of this host: other namespaces reach files, and not its loopback. */
async function socketTo(url: string): Promise<string> {
  const { hostname, port } = new URL(url)
  const path = join(temporaryDirectory(), 'model.sock')
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname)
    client.pipe(upstream).pipe(client)
    client.on('error', () => upstream.destroy())
    upstream.on('error', () => client.destroy())
  })
  await new Promise<void>((resolve) => server.listen(path, resolve))
  onTestFinished(() => void server.close())
  return path
}
