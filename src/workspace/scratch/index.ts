export { defaultScratchBase } from './base-directory.js'
export type { CopiedTree } from './copy-tree.js'
export * from './errors.js'
export { createScratch, type Scratch, type ScratchOptions } from './scratch.js'
