// All contenders, each in its own process, measured in turn.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { startWorker } from './process.mjs'

/** @typedef {import('./worker.mjs').Cost} Cost */
/** @typedef {{ idle: number, used: number, rss: number }} Held */
/**
 * What can be asked to do a piece of work, and what it cannot do, with the reasons.
 * @template [Work=any]
 * @typedef {{ name: string, title: string, cannot: Record<string, string>, runs: (work: Work) => Promise<Cost>, end: () => Promise<void> }} Asked
 */
/** @typedef {Asked<Partial<import('./worker.mjs').Work> & { plan: string }> & { hold: (count: number, rounds: number) => Promise<Held> }} Contender */

/**
 * @param {readonly string[]} names
 * @param {{ url: string, root: string, place: string }} where
 * @returns {Promise<Contender[]>} those that started; the others are reported
 */
export async function startField(names, where) {
  const field = []
  for (const name of names) {
    try {
      field.push(await startContender(name, where))
    } catch (error) {
      console.error(`${name} does not start: ${error instanceof Error ? error.message : error}`)
    }
  }
  return field
}

/** @param {string} name @param {{ url: string, root: string, place: string }} where @returns {Promise<Contender>} */
async function startContender(name, { url, root, place }) {
  const own = join(place, name)
  mkdirSync(own, { recursive: true })
  const { ready, order, end } = await startWorker('worker.mjs', [name, url, root, own])
  const usual = { mode: 'stream', rounds: 0, times: 1, at: 1, history: 0, length: 0 }
  return {
    name,
    title: ready.title,
    cannot: ready.cannot,
    runs: (work) => order({ do: 'runs', work: { ...usual, ...work } }),
    hold: (count, rounds) => order({ do: 'hold', count, rounds }),
    end,
  }
}
