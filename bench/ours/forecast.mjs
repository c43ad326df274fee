// The tool that is called: the same arguments and the same work for every contender.

export const text = JSON.stringify({
  city: 'Reykjavík',
  days: 3,
  units: 'metric',
  tags: ['wind', 'rain', 'sun'],
})

/** @param {any} z */
export function inputOf(z) {
  return z.object({
    city: z.string().min(1),
    days: z.number().int().min(1).max(14),
    units: z.enum(['metric', 'imperial']),
    tags: z.array(z.string()),
  })
}

/** @param {{ city: string, days: number, units: string, tags: string[] }} args */
export function forecast({ city, days, units, tags }) {
  return { city, days, units, high: days + 7, tags: tags.length }
}

/** So many calls one after the other; the first is looked at. @param {() => unknown} call @returns {import('../peers/sides.mjs').OpenSide} */
export function times(call) {
  return {
    async before() {
      const said = JSON.stringify(await call()) ?? ''
      if (!said.includes('high')) throw new Error(`the call gave ${said.slice(0, 200)}`)
    },
    async run({ times }) {
      for (let at = 0; at < times; at++) await call()
    },
  }
}
