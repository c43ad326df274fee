// The collector of the soak, as a process of its own: the OTLP receiver of Elastic. The parent asks for the counts with
// any message.
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { installedPackages } from '../../../scripts/user-packages.mjs'

const { MockOtlpServer } = createRequire(join(installedPackages, 'entry.js'))('@elastic/mockotlpserver')
/** @type {Record<string, number>} */
const spans = {}
/** @type {Record<string, number>} */
const metrics = {}
let tokens = 0
let withoutEnd = 0

const server = new MockOtlpServer({
  logLevel: 'error',
  services: ['http'],
  httpHostname: '127.0.0.1',
  httpPort: 0,
  onTrace: (/** @type {any} */ request) => {
    for (const span of entriesOf(request, 'resourceSpans', 'scopeSpans', 'spans')) {
      const [kind = ''] = span.name.split(' ')
      spans[kind] = (spans[kind] ?? 0) + 1
      if (Number(span.endTimeUnixNano) < Number(span.startTimeUnixNano)) withoutEnd++
      for (const { key, value } of span.attributes)
        if (key === 'gen_ai.usage.input_tokens' || key === 'gen_ai.usage.output_tokens')
          tokens += Number(value.intValue)
    }
  },
  onMetrics: (/** @type {any} */ request) => {
    // Sums since the start: the last export has all.
    for (const { name, histogram } of entriesOf(request, 'resourceMetrics', 'scopeMetrics', 'metrics'))
      metrics[name] = histogram.dataPoints.reduce(
        (/** @type {number} */ sum, /** @type {any} */ { count }) => sum + Number(count),
        0,
      )
  },
})
await server.start()

/** @param {any} request @param {string} resources @param {string} scopes @param {string} entries */
function entriesOf(request, resources, scopes, entries) {
  return request[resources].flatMap((/** @type {any} */ resource) =>
    resource[scopes].flatMap((/** @type {any} */ scope) => scope[entries]),
  )
}

process.on('message', () => process.send?.({ spans, metrics, tokens, withoutEnd }))
process.send?.({ url: server.httpUrl.origin })
