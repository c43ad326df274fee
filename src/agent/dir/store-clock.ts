import type { SessionStore } from '../../store/session-store.js'
import type { ScheduleClock } from './schedule-clock.js'

/** How old a comparison of the two clocks can be. */
const maxAgeMs = 10_000

/**
 * The clock of a store that has one, so that nodes fire at the same time although their own clocks differ. It compares
 * the clocks now and before later sleeps; a store that cannot be reached leaves the last difference as it is.
 */
export async function storeClock(
  own: ScheduleClock,
  store: Pick<SessionStore, 'now'> | undefined,
): Promise<ScheduleClock> {
  if (store?.now === undefined) return own
  let difference = 0
  let comparedAt = 0
  let isComparing = false
  const compare = async (): Promise<void> => {
    const [askedAt, started] = [own.now(), performance.now()]
    const time = await store.now?.()
    comparedAt = performance.now()
    // The store answered in the middle of the time that it took.
    if (time !== undefined) difference = time - askedAt - (comparedAt - started) / 2
  }
  await compare()
  return {
    now: () => Math.round(own.now() + difference),
    sleep: (ms, signal) => {
      if (!isComparing && performance.now() - comparedAt > maxAgeMs) {
        isComparing = true
        const compared = (): void => {
          isComparing = false
        }
        // A store that is away leaves the difference as it is.
        compare().then(compared, compared)
      }
      return own.sleep(ms, signal)
    },
  }
}
