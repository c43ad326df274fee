// The baseline: the minimal code that does the same.
import { bareLoop } from '../loop/bare-loop.mjs'

/** @type {import('./contract.mjs').Peer} */
export const peer = {
  title: 'fetch by hand',
  packages: [],
  open: async ({ url, read }) => ({
    conversation(history) {
      /** @type {import('../loop/bare-loop.mjs').BareMessage[]} */
      const messages = [...history]
      return {
        ask(prompt, { stream, onText }) {
          messages.push({ role: 'user', content: prompt })
          return bareLoop({
            url: url.slice(0, -'/v1'.length),
            read,
            messages,
            stream,
            ...(onText && { onText }),
          })
        },
      }
    },
  }),
}
