import { ProgramError } from './errors.js'

const memorySection = 5
const headerBytes = 8

/**
 * Returns a WebAssembly binary whose memory cannot exceed this many pages. The engine's own limit counts what scripts
 * allocate, but not its own memory, such as the stack of a regular expression; this limit covers everything.
 */
export function withMemoryMaximum(binary: Uint8Array<ArrayBuffer>, pages: number): Uint8Array<ArrayBuffer> {
  for (let at = headerBytes; at < binary.length; ) {
    const size = readNumber(binary, at + 1)
    const end = size.next + size.value
    if (binary[at] === memorySection) {
      const section = cappedSection(binary.subarray(size.next, end), pages)
      return joined([binary.subarray(0, at), section, binary.subarray(end)])
    }
    at = end
  }
  throw unexpected('has no memory of its own')
}

function cappedSection(body: Uint8Array, pages: number): Uint8Array {
  const [count, flags] = body
  if (count !== 1 || (flags !== 0 && flags !== 1)) throw unexpected('has another kind of memory')
  const least = readNumber(body, 2)
  if (least.value > pages) throw unexpected(`starts with more than ${pages} pages`)
  const capped = [1, 1, ...body.subarray(2, least.next), ...numberBytes(pages)]
  return Uint8Array.from([memorySection, ...numberBytes(capped.length), ...capped])
}

/** Reads unsigned LEB128, the format of every number. */
function readNumber(bytes: Uint8Array, start: number): { readonly value: number; readonly next: number } {
  let value = 0
  let shift = 0
  for (let at = start; at < bytes.length && shift < 35; at++, shift += 7) {
    const byte = bytes[at] ?? 0
    value += (byte & 0x7f) * 2 ** shift
    if (byte < 0x80) return { value, next: at + 1 }
  }
  throw unexpected('is cut off')
}

function numberBytes(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...numberBytes(value >>> 7)]
}

function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

function unexpected(what: string): ProgramError {
  return new ProgramError(
    'program_engine_invalid',
    `The script engine's binary ${what}: install the version of quickjs-wasi that this package requires.`,
  )
}
