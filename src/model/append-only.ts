import type { Message } from '../tool/completion.js'

/** Lists whose owners have promised it. */
const promised = new WeakSet<readonly Message[]>()

/**
 * The word of a list's owner that messages are only ever put at its end, and none is changed: then what was found out about its
 * beginning need not be found out again for every request, and a round costs the same however long the history is.
 */
export function appendOnly(list: Message[]): Message[] {
  promised.add(list)
  return list
}

/** Makes a walk over histories, message by message. One that is append-only is gone on with where it was left the last time. */
export function walkHistory<State>(
  begin: () => State,
  take: (state: State, message: Message) => void,
): (history: readonly Message[]) => State {
  const places = new WeakMap<readonly Message[], { readonly state: State; count: number }>()
  return (history) => {
    const known = places.get(history)
    const place = known !== undefined && known.count <= history.length ? known : { state: begin(), count: 0 }
    for (; place.count < history.length; place.count++) take(place.state, history[place.count] as Message)
    if (place !== known && promised.has(history)) places.set(history, place)
    return place.state
  }
}
