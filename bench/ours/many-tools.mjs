// Runs with so many tools: made once for each number of them, and asked for the tool in the middle.

/**
 * @param {string} url
 * @param {(count: number, plan: string) => (() => Promise<number>) | Promise<() => Promise<number>>} make gives what
 * makes one run, and returns how often the tool was called
 * @returns {import('../peers/sides.mjs').OpenSide}
 */
export function runsOf(url, make) {
  /** @type {Map<number, () => Promise<number>>} */
  const made = new Map()
  return {
    async before({ size }) {
      if (!made.has(size)) made.set(size, await make(size, `${url}/search-${Math.floor(size / 2)}`))
      await fetch(`${url}/taken`)
    },
    async run({ size, times }) {
      const one = made.get(size)
      for (let at = 0; at < times; at++) {
        const called = await one?.()
        if (called !== 1) throw new Error(`the tool was called ${called} times`)
      }
    },
    async facts({ times }) {
      const { requests, bytes } = await (await fetch(`${url}/taken`)).json()
      return { requests: requests / times, 'KB sent': bytes / times / 1024 }
    },
  }
}
