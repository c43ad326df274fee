import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { readInput } from './read-input.js'

const pipe = { stdin: false, stdout: false, stderr: false }

describe('standard input', () => {
  it('is read to its end', async () => {
    for (const wish of ['optional', 'required'] as const) {
      const { io, stdin } = setUp()
      const reading = readInput(io, wish)
      stdin.write('a piece, ')
      stdin.end('another é')
      expect(await reading).toEqual({ text: 'a piece, another é' })
    }
  })

  it('is ignored when it stays open and empty, and does not keep the process alive', async () => {
    const { io, stdin } = setUp()
    expect(await readInput(io, 'optional', 10)).toEqual({ text: '', timedOut: true })
    expect(stdin.destroyed).toBe(true)
  })

  it('is waited for once data has arrived, or when it is required', async () => {
    const begun = setUp()
    const reading = readInput(begun.io, 'optional', 5)
    begun.stdin.write('a')
    await new Promise((resolve) => setTimeout(resolve, 20))
    begun.stdin.end('b')
    expect(await reading).toEqual({ text: 'ab' })
    const wanted = setUp()
    const waiting = readInput(wanted.io, 'required', 1)
    await new Promise((resolve) => setTimeout(resolve, 20))
    wanted.stdin.end('late')
    expect(await waiting).toEqual({ text: 'late' })
  })

  it('is not read on a terminal, nor when it is turned off', async () => {
    const { io, stdin } = setUp()
    expect(await readInput({ ...io, isTTY: { ...pipe, stdin: true } }, 'required')).toEqual({ text: '' })
    expect(await readInput(io, 'none')).toEqual({ text: '' })
    expect(stdin.listenerCount('data')).toBe(0)
  })

  it('is not waited for when the command is cancelled', async () => {
    const { io, stopping } = setUp()
    const reading = readInput(io, 'required')
    stopping.abort('SIGINT')
    expect(await reading).toEqual({ text: '' })
  })

  it('must be text of a limited size', async () => {
    const binary = setUp()
    binary.stdin.end(Buffer.from([1, 0, 2]))
    await expect(readInput(binary.io, 'required')).rejects.toThrow('is not text')
    const large = setUp()
    const reading = readInput(large.io, 'required')
    large.stdin.write(Buffer.alloc(8 * 1024 * 1024, 'a'))
    large.stdin.write('b')
    await expect(reading).rejects.toThrow('more than 8 MiB')
  })
})

function setUp() {
  const stdin = new PassThrough()
  const stopping = new AbortController()
  return { stdin, stopping, io: { stdin, isTTY: pipe, signal: stopping.signal } }
}
