import type { Message } from '../tool/completion.js'

/** Lists that are marked as append-only. */
const promised = new WeakSet<readonly Message[]>()

/**
 * Marks a list as append-only: its owner only adds messages at the end and never changes one. Results for its beginning
 * are then reused for every request, so the cost of a round does not depend on the length of the history.
 */
export function appendOnly(list: Message[]): Message[] {
  promised.add(list)
  return list
}

/**
 * Drops the cached results about a history and its messages. They are computed again when needed, at the cost of
 * reading the whole history once.
 */
export function forgetHistory(history: readonly Message[]): void {
  for (const forget of forgetting) forget(history)
}

/** Registers a cache of results about histories, which `forgetHistory` empties. */
export function whenForgotten(forget: (history: readonly Message[]) => void): void {
  forgetting.push(forget)
}

const forgetting: ((history: readonly Message[]) => void)[] = []

/**
 * Creates a function that visits the messages of a history. On an append-only list it continues where the last visit
 * ended.
 */
export function walkHistory<State>(
  begin: () => State,
  take: (state: State, message: Message) => void,
): (history: readonly Message[]) => State {
  const places = new WeakMap<readonly Message[], { readonly state: State; count: number }>()
  whenForgotten((history) => places.delete(history))
  return (history) => {
    const known = places.get(history)
    const place = known !== undefined && known.count <= history.length ? known : { state: begin(), count: 0 }
    for (; place.count < history.length; place.count++) take(place.state, history[place.count] as Message)
    if (place !== known && promised.has(history)) places.set(history, place)
    return place.state
  }
}
