import type { SessionStore } from '../../store/session-store.js'
import type { ScheduleClock } from './schedule-clock.js'

/** How old the measured difference between the two clocks can be. */
const maxAgeMs = 10_000

/**
 * A clock that follows the clock of the store, if it has one, so that nodes fire at the same time although their own
 * clocks differ. It compares the clocks now and before later sleeps; while the store cannot be reached, the last
 * difference applies.
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
    // Assumes that the store answered halfway through the round trip.
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
        // If the store cannot be reached, the difference stays unchanged.
        compare().then(compared, compared)
      }
      return own.sleep(ms, signal)
    },
  }
}
