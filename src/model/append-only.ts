import type { Message } from '../tool/completion.js'

/** Lists that are marked as append-only. */
const promised = new WeakSet<readonly Message[]>()

/**
 * Marks a list as append-only: its owner only adds messages at the end and never changes one. Results for its
 * beginning are then reused for every request, and a round costs the same for any length of the history.
 */
export function appendOnly(list: Message[]): Message[] {
  promised.add(list)
  return list
}

/**
 * Creates a walk over histories, message by message. A walk over an append-only list continues where the last one
 * ended.
 */
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
