// A worker: `worker.mjs <url>` with the token in QUEUE_TOKEN, or without arguments over its standard streams.
import { workOnQueue } from 'capstan'

const [url] = process.argv.slice(2)
const handlers = {
  /** @type {import('capstan').TaskHandler} */
  weigh: async ({ crate, slow }) => {
    if (slow === true) await new Promise((resolve) => setTimeout(resolve, 500))
    return { output: `crate ${crate}: ${Number(crate) * 12} kg`, exit_code: 0 }
  },
}

await workOnQueue(
  url === undefined
    ? { input: process.stdin, output: process.stdout, handlers }
    : { url, token: process.env['QUEUE_TOKEN'] ?? '', handlers },
)
