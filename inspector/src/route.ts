import { signal } from '@preact/signals'
import { linkTo, type Place, readPlace } from './places.js'

/** What the page shows now. */
export const place = signal<Place>(readPlace(location.hash))
addEventListener('hashchange', () => {
  place.value = readPlace(location.hash)
})

/** Changes the address without a new entry in the history of the browser. */
export function replacePlace(to: Place): void {
  history.replaceState(null, '', linkTo(to))
  place.value = to
}
