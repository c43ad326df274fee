import { describe, expect, it } from 'vitest'
import { type DeadLetter, DeadLetters } from './dead-letters.js'

const letter = (commandId: string, error = 'no'): DeadLetter => ({
  commandId,
  commandType: 'bash',
  lane: 'execute',
  payload: { command: 'true' },
  error,
  attempts: 3,
  failedAt: 1_000,
  mayHaveRun: false,
})
const ids = (letters: DeadLetters): string[] => letters.list().map(({ commandId }) => commandId)

describe('DeadLetters', () => {
  it('keeps the newest, and reports which was removed', () => {
    const letters = new DeadLetters(2)
    expect(['a', 'b', 'c'].map((id) => letters.add(letter(id)))).toEqual([undefined, undefined, 'a'])
    expect(ids(letters)).toEqual(['b', 'c'])
  })

  it('keeps a call once, with its last error', () => {
    const letters = new DeadLetters(2)
    letters.add(letter('a', 'first'))
    expect(letters.add(letter('a', 'second'))).toBeUndefined()
    expect(ids(letters)).toEqual(['a'])
    expect(letters.get('a')?.error).toBe('second')
  })

  it('gives each call to one caller', () => {
    const letters = new DeadLetters(2)
    letters.add(letter('a'))
    expect([letters.take('a'), letters.take('a'), letters.take('unknown')]).toEqual([true, false, false])
    expect(letters.get('a')).toBeUndefined()
  })

  it('keeps nothing with a size of 0', () => {
    const letters = new DeadLetters(0)
    expect(letters.add(letter('a'))).toBe('a')
    expect(letters.list()).toEqual([])
  })
})
