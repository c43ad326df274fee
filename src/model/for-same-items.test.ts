import { expect, it } from 'vitest'
import { forSameItems } from './for-same-items.js'

it('makes a result once for lists of the same items, and again when an item or their number changes', () => {
  let made = 0
  const text = forSameItems((items: readonly { name: string }[]) => {
    made++
    return items.map(({ name }) => name).join()
  })
  const [a, b] = [{ name: 'a' }, { name: 'b' }]
  const list = [a, b]
  expect([text(list), text([a, b]), made]).toEqual(['a,b', 'a,b', 1])
  // The caller's list is not held: one that grows is another list.
  list.push(a)
  expect([text(list), made]).toEqual(['a,b,a', 2])
  expect([text([b, a]), text([]), made]).toEqual(['b,a', '', 4])
})
