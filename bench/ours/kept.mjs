// Stored sessions: appending a round to a number of messages, and reading all of them back.
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'

export const output = 'The quick brown fox jumps over the lazy dog, and "quotes" it.\n'.repeat(8)
const patienceMs = 20_000

/**
 * One kept session. A round is two messages: an answer with a call, and its result of 500 characters. `n` counts rounds.
 * @typedef {{ append: (n: number) => unknown, appendMany?: (from: number, count: number) => unknown, bytes?: () => number, close?: () => unknown }} Kept
 */

/**
 * @param {{ make: (id: string) => Kept | Promise<Kept>, reopen?: (id: string) => number | Promise<number>, close?: () => unknown }} store
 *   `reopen` gives how many messages there are
 * @returns {import('../peers/sides.mjs').OpenSide}
 */
export function keptSide({ make, reopen, close }) {
  /** @type {Map<string, { kept: Kept, rounds: number }>} */
  const sessions = new Map()
  let made = 0
  let bytesBefore = 0
  /** @param {string} id @param {number} messages */
  const filled = async (id, messages) => {
    const session = sessions.get(id) ?? { kept: await make(id), rounds: 0 }
    sessions.set(id, session)
    const missing = messages / 2 - session.rounds
    const start = performance.now()
    if (missing > 0 && session.kept.appendMany) await session.kept.appendMany(session.rounds, missing)
    else
      for (let n = 0; n < missing; n++) {
        await session.kept.append(session.rounds + n)
        if (performance.now() - start > patienceMs)
          throw new Error(
            `after ${patienceMs / 1000} seconds there were ${2 * (session.rounds + n)} messages`,
          )
      }
    session.rounds = Math.max(session.rounds, messages / 2)
    return session
  }
  /** A session that a few more rounds would make noticeably larger is created for each run. @param {number} size */
  const idFor = (size) => (size <= 100 ? `a${size}-${made}` : `a${size}`)
  return {
    async before({ what, size }) {
      made++
      if (what === 'reopen') {
        const id = `r${size}`
        const known = sessions.has(id)
        const { kept } = await filled(id, size)
        if (!known) await kept.close?.()
      } else bytesBefore = (await filled(idFor(size), size)).kept.bytes?.() ?? 0
    },
    async run({ what, size, times }) {
      if (what === 'reopen') {
        for (let at = 0; at < times; at++) {
          const messages = await reopen?.(`r${size}`)
          if (messages !== size) throw new Error(`${messages} messages came back of ${size}`)
        }
        return
      }
      const session = sessions.get(idFor(size))
      for (let at = 0; at < times; at++) await session?.kept.append(session.rounds++)
    },
    facts({ what, size, times }) {
      const kept = sessions.get(idFor(size))?.kept
      if (what === 'reopen' || kept?.bytes === undefined) return {}
      return { bytes: (kept.bytes() - bytesBefore) / times }
    },
    async close() {
      for (const { kept } of sessions.values()) await kept.close?.()
      await close?.()
    },
  }
}

/** Bytes of all files below. @param {string} folder */
export function bytesBelow(folder) {
  let sum = 0
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true }))
    if (entry.isFile()) sum += statSync(join(entry.parentPath ?? entry.path, entry.name)).size
  return sum
}
