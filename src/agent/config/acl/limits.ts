export const maxDocumentBytes = 1024 * 1024
export const maxNesting = 64
/** The maximum number of items in a block, list or object, and in the document. */
export const maxItems = 10_000
export const maxTokenLength = 256 * 1024
