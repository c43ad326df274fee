import { type DotKernel, dotKernelFor } from './dot-kernel.js'

const lanes = 16
const floatBytes = 4
const pageBytes = 65_536

/**
 * Rows of one length in one `Float32Array` block, each scaled to length 1 when it is added, so that a search is nothing but
 * dot products. The block lies in WebAssembly memory, where sixteen numbers are multiplied a step; without WebAssembly the same
 * block is read by plain JavaScript.
 */
export class VectorBlock {
  #dimensions = 0
  #stride = 0
  #rows = 0
  #capacity = 0
  #memory: WebAssembly.Memory | undefined
  #kernel: DotKernel | undefined
  #floats = new Float32Array(0)
  readonly #plain: boolean

  /** `plain` keeps to JavaScript where WebAssembly would be used. */
  constructor(options: { plain?: boolean } = {}) {
    this.#plain = options.plain ?? typeof WebAssembly === 'undefined'
  }

  get rows(): number {
    return this.#rows
  }

  get dimensions(): number {
    return this.#dimensions
  }

  /** Throws when a vector cannot become a row: another length than the rest, empty, or with a number that is not finite. */
  assertFits(vector: ArrayLike<number>, label: string, dimensions = this.#dimensions): void {
    if (vector.length === 0) throw new TypeError(`The vector of ${label} is empty.`)
    if (dimensions !== 0 && vector.length !== dimensions) {
      throw new TypeError(
        `The vector of ${label} has ${vector.length} dimensions where the others have ${dimensions}.`,
      )
    }
    for (let i = 0; i < vector.length; i++) {
      if (!Number.isFinite(vector[i]))
        throw new TypeError(`The vector of ${label} holds a number that is not finite (at ${i}).`)
    }
  }

  /** Adds a row at the end. */
  push(vector: ArrayLike<number>, label = 'a row'): void {
    this.assertFits(vector, label)
    if (this.#dimensions === 0) {
      this.#dimensions = vector.length
      this.#stride = Math.ceil(vector.length / lanes) * lanes
    }
    if (this.#rows === this.#capacity) this.#grow(Math.max(16, this.#capacity * 2))
    this.#rows++
    this.#write(vector, this.#rows * this.#stride)
  }

  /** Takes rows out; those behind them move up. */
  remove(first: number, count: number): void {
    const from = (1 + first) * this.#stride
    this.#floats.copyWithin(from, from + count * this.#stride, (1 + this.#rows) * this.#stride)
    this.#rows -= count
    if (this.#rows === 0) this.#reset()
  }

  /** The cosine of the query with every row, in order. The view is valid until the next call. A zero vector scores 0. */
  scores(query: ArrayLike<number>): Float32Array {
    if (this.#rows === 0) return new Float32Array(0)
    this.assertFits(query, 'the query')
    this.#write(query, 0)
    const outAt = (1 + this.#capacity) * this.#stride
    const out = this.#floats.subarray(outAt, outAt + this.#rows)
    const rowBytes = this.#stride * floatBytes
    if (this.#kernel !== undefined) this.#kernel.dots(0, rowBytes, outAt * floatBytes, this.#rows, rowBytes)
    else dotsInJavaScript(this.#floats, this.#stride, this.#rows, out)
    return out
  }

  /** An empty block takes vectors of any length again, and keeps no memory. */
  #reset(): void {
    this.#dimensions = 0
    this.#stride = 0
    this.#capacity = 0
    this.#memory = undefined
    this.#kernel = undefined
    this.#floats = new Float32Array(0)
  }

  /** The first place holds the query, then come the rows, then the scores. */
  #grow(capacity: number): void {
    const bytes = ((1 + capacity) * this.#stride + capacity) * floatBytes
    if (this.#plain) {
      const larger = new Float32Array(bytes / floatBytes)
      larger.set(this.#floats.subarray(0, (1 + this.#rows) * this.#stride))
      this.#floats = larger
    } else {
      const pages = Math.ceil(bytes / pageBytes)
      if (this.#memory === undefined) {
        this.#memory = new WebAssembly.Memory({ initial: pages })
        this.#kernel = dotKernelFor(this.#memory)
      } else {
        this.#memory.grow(pages - this.#memory.buffer.byteLength / pageBytes)
      }
      this.#floats = new Float32Array(this.#memory.buffer)
    }
    this.#capacity = capacity
  }

  /** Puts a vector at its place, scaled to length 1. Dividing by the largest number first keeps the squares in range. */
  #write(vector: ArrayLike<number>, at: number): void {
    let largest = 0
    for (let i = 0; i < vector.length; i++) largest = Math.max(largest, Math.abs(vector[i] ?? 0))
    let squares = 0
    for (let i = 0; i < vector.length; i++) squares += ((vector[i] ?? 0) / largest) ** 2
    const length = largest === 0 ? 1 : Math.sqrt(squares)
    for (let i = 0; i < vector.length; i++)
      this.#floats[at + i] = largest === 0 ? 0 : (vector[i] ?? 0) / largest / length
    this.#floats.fill(0, at + vector.length, at + this.#stride)
  }
}

function dotsInJavaScript(floats: Float32Array, stride: number, rows: number, out: Float32Array): void {
  for (let row = 0; row < rows; row++) {
    const at = (1 + row) * stride
    let a = 0
    let b = 0
    for (let i = 0; i < stride; i += 2) {
      a += (floats[i] ?? 0) * (floats[at + i] ?? 0)
      b += (floats[i + 1] ?? 0) * (floats[at + i + 1] ?? 0)
    }
    out[row] = a + b
  }
}
