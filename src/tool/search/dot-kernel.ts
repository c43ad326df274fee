/** What the compiled kernel offers: see `dot-kernel.wat`, from which a test assembles these very bytes. */
export type DotKernel = { dots(query: number, row: number, out: number, rows: number, bytes: number): void }

export const dotKernelBase64 =
  'AGFzbQEAAAABCQFgBX9/f39/AAINAQFtBm1lbW9yeQIAAQMCAQAHCAEEZG90cwAACqYCAaMCAwF/BHsCfwJAIANFDQADQEEAIQX9DAAAAAAAAAAAAAAA' +
  'AAAAAAAhBv0MAAAAAAAAAAAAAAAAAAAAACEH/QwAAAAAAAAAAAAAAAAAAAAAIQj9DAAAAAAAAAAAAAAAAAAAAAAhCQNAIAAgBWohCiABIAVqIQsgBiAK' +
  '/QAEACAL/QAEAP3mAf3kASEGIAcgCv0ABBAgC/0ABBD95gH95AEhByAIIAr9AAQgIAv9AAQg/eYB/eQBIQggCSAK/QAEMCAL/QAEMP3mAf3kASEJIAVB' +
  'wABqIgUgBEkNAAsgBiAH/eQBIAggCf3kAf3kASEGIAIgBv0fACAG/R8BkiAG/R8CIAb9HwOSkjgCACACQQRqIQIgASAEaiEBIANBAWsiAw0ACwsL'

let compiled: WebAssembly.Module | null | undefined

/** The kernel over a memory, or undefined where WebAssembly with vectors of 128 bits cannot run (an old engine, a strict CSP). */
export function dotKernelFor(memory: WebAssembly.Memory): DotKernel | undefined {
  if (compiled === undefined) compiled = compile()
  if (compiled === null) return undefined
  return new WebAssembly.Instance(compiled, { m: { memory } }).exports as DotKernel
}

function compile(): WebAssembly.Module | null {
  try {
    return new WebAssembly.Module(Uint8Array.from(atob(dotKernelBase64), (char) => char.charCodeAt(0)))
  } catch {
    // The caller computes in plain JavaScript instead.
    return null
  }
}
