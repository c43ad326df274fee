import { expect, it } from 'vitest'
import type { NetworkRequest } from './network-request.js'
import { createTraffic } from './traffic.js'

it('reports the first 500 requests of a command, and the sum of the others', () => {
  const requests: NetworkRequest[] = []
  const traffic = createTraffic({ onRequest: (one) => requests.push(one), now: () => 0 })
  for (let at = 0; at < 510; at++)
    traffic.refuse(
      { method: 'CONNECT', scheme: 'tunnel' },
      { refused: 'not_allowed', host: `host${at}.test`, port: 443 },
    )
  expect(requests).toHaveLength(500)
  traffic.close()
  expect(requests).toHaveLength(501)
  expect(requests.at(-1)).toMatchObject({ verdict: 'refused', count: 10 })
  expect(traffic.refused()).toHaveLength(20)
})

it('reports open requests when it is closed, and nothing afterwards', () => {
  const requests: NetworkRequest[] = []
  const traffic = createTraffic({ onRequest: (one) => requests.push(one), now: () => 0 })
  const begin = () =>
    traffic.begin({ method: 'GET', scheme: 'http', host: 'good.test', port: 80, rule: 'good.test' })
  begin().up(3)
  begin().drop()
  traffic.close()
  begin().end()
  expect(requests).toEqual([expect.objectContaining({ bytesUp: 3, verdict: 'allowed' })])
})
