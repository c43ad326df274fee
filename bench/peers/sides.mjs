// Contenders of a part that is not a conversation with a model: each side of it in a separate process.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { startWorker } from './process.mjs'

/** What a side is asked: which of its works, at which size, how often. @typedef {{ what: string, size: number, times: number }} SideWork */
/** Where a side lives while it is measured. @typedef {{ place: string, url: string, root: string }} SidePlace */
/**
 * `before` and `facts` are not timed: what a work needs, and what can be said after it. `slow`: works so much less often than it is
 * asked to, and what it took counts so much more.
 * @typedef {{
 *   slow?: number
 *   before?: (work: SideWork) => unknown
 *   run: (work: SideWork) => Promise<unknown>
 *   facts?: (work: SideWork) => Promise<Record<string, number>> | Record<string, number>
 *   close?: () => unknown
 * }} OpenSide
 */
/**
 * `cannot` as a text: nothing of the part; by the name of a work: that.
 * @typedef {{ title: string, cannot?: string | Readonly<Record<string, string>>, open?: (place: SidePlace) => Promise<OpenSide> }} Side
 */

/**
 * Starts the sides of a part in the order of the names, the floor first. A side without a process still has its row:
 * what it cannot.
 * @param {string} part the name of both modules
 * @param {import('./parts/part.mjs').Setting} setting
 * @returns {Promise<import('./field.mjs').Asked<SideWork>[]>}
 */
export async function startSides(part, { names, where }) {
  const files = [
    join(import.meta.dirname, '../ours', `${part}.mjs`),
    join(import.meta.dirname, 'sides', `${part}.mjs`),
  ]
  /** @type {import('./field.mjs').Asked<SideWork>[]} */
  const field = []
  for (const file of files) {
    /** @type {{ sides: Record<string, Side> }} */
    const { sides } = await import(file)
    for (const [name, side] of Object.entries(sides)) {
      // A side belongs to the contender whose name its own begins with.
      if (!names.some((one) => name === one || name.startsWith(`${one}-`))) continue
      field.push(await startSide(file, name, side, { ...where, place: join(where.place, part, name) }))
    }
  }
  return field
}

/** @param {string} file @param {string} name @param {Side} side @param {SidePlace} where @returns {Promise<import('./field.mjs').Asked<SideWork>>} */
async function startSide(file, name, { title, cannot = {}, open }, where) {
  const nothing = (/** @type {string} */ reason) => ({
    name,
    title,
    cannot: { '*': reason },
    runs: () => Promise.reject(new Error(reason)),
    end: async () => undefined,
  })
  if (typeof cannot === 'string') return nothing(cannot)
  if (open === undefined) return nothing('not written')
  mkdirSync(where.place, { recursive: true })
  try {
    const { order, end } = await startWorker('side-worker.mjs', [file, name, JSON.stringify(where)])
    return { name, title, cannot, runs: (work) => order({ do: 'runs', work }), end }
  } catch (error) {
    return nothing(`does not start: ${String(error instanceof Error ? error.message : error).split('\n')[0]}`)
  }
}
