/** Creates a function of a list that caches its last result, and returns it again for a list with the same items. */
export function forSameItems<Item, Result>(
  make: (items: readonly Item[]) => Result,
): (items: readonly Item[]) => Result {
  let last: { readonly items: readonly Item[]; readonly result: Result } | undefined
  return (items) => {
    if (last === undefined || !hasSameItems(last.items, items))
      last = { items: [...items], result: make(items) }
    return last.result
  }
}

function hasSameItems(some: readonly unknown[], others: readonly unknown[]): boolean {
  if (some.length !== others.length) return false
  for (let at = 0; at < some.length; at++) if (some[at] !== others[at]) return false
  return true
}
