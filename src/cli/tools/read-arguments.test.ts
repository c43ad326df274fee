import { expect, it } from 'vitest'
import { readArguments } from './read-arguments.js'

it('accepts one JSON object, or words', () => {
  expect(readArguments([])).toEqual({})
  expect(readArguments(['{"a": [1]}'])).toEqual({ a: [1] })
  expect(
    readArguments(['command=ls -la', 'limit=3', 'all=true', 'name=1st', 'x="2"', 'y=[1]', 'z=a=b', 'e=']),
  ).toEqual({
    command: 'ls -la',
    limit: 3,
    all: true,
    name: '1st',
    x: '2',
    y: [1],
    z: 'a=b',
    e: '',
  })
})

it.each([[['word']], [['=x']], [['{"a":']], [['{"a":1}', 'b=2']]])('rejects %j', (words) => {
  expect(() => readArguments(words)).toThrow()
})
