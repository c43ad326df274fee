import { randomBytes } from 'node:crypto'

/** The variable by which every process of a run can be recognised, even if it has detached from its parent. */
export const markerVariable = 'CAPSTAN_RUN_ID'

/**
 * Returns a word that no other process has. Not taken from the session's id generator: a replayed session must not
 * mistake the processes of another one for its own, because processes with the word are killed.
 */
export function newToken(): string {
  return randomBytes(12).toString('hex')
}

/**
 * Returns the marker's value for one run. A host that itself runs under Capstan prepends the outer words, so that the
 * outer run still finds what the inner one started.
 */
export function markerValue(hostToken: string, runToken: string, outer: string | undefined): string {
  const own = `${hostToken}.${runToken}`
  return outer === undefined || !/^[0-9a-f.:]{1,1000}$/.test(outer) ? own : `${outer}:${own}`
}
