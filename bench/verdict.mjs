// Decides whether measured values meet their targets.

/** A target with a limit on one side, and the measured value. @typedef {{ name: string, unit: string, most?: number, least?: number, found: number }} Target */
/** @typedef {Target & { met: boolean }} Judged */

/** A target that was not measured is not met. @param {Target} target @returns {Judged} */
export function judged(target) {
  const { most = Number.POSITIVE_INFINITY, least = Number.NEGATIVE_INFINITY, found } = target
  return { ...target, met: Number.isFinite(found) && found <= most && found >= least }
}

/** One human-readable line. @param {Judged} target */
export function verdictLine({ name, unit = '', found, met, ...limits }) {
  return `${met ? 'met   ' : 'MISSED'} ${name}: ${shown(found)} ${unit}, target ${limitOf(limits)}`
}

/** @param {{ most?: number, least?: number }} limits */
export function limitOf({ most, least }) {
  return most === undefined ? `at least ${shown(least ?? Number.NaN)}` : `at most ${shown(most)}`
}

/** @param {number | null} value what was not a number is written as null */
export function shown(value) {
  if (value === null || !Number.isFinite(value)) return 'nothing measured'
  return Math.abs(value) >= 1000 ? String(Math.round(value)) : String(Number(value.toPrecision(3)))
}

/**
 * The targets of recorded results, area by area, judged again.
 * @param {readonly { name: string, targets?: readonly any[] }[]} results
 * @returns {{ area: string, target: Judged }[]}
 */
export function verdicts(results) {
  return results.flatMap(({ name, targets = [] }) =>
    targets.map((target) => ({
      area: name,
      target: judged({ ...target, found: target.found ?? Number.NaN }),
    })),
  )
}
