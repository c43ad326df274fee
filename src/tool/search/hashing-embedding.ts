import { fnv1a } from '../fnv1a.js'
import type { EmbeddingModel } from './embedding.js'
import { wordsOf } from './words.js'

/** The settings of {@link createHashingEmbedding}. */
export type HashingEmbeddingOptions = { dimensions?: number }

/** An embedding model that names its kind: it compares words and their parts, not meanings. */
export interface HashingEmbeddingModel extends EmbeddingModel {
  readonly provider: 'capstan'
  readonly model: string
  readonly semantic: false
  readonly dimensions: number
}

const gram = 3
const gramWeight = 0.4

/**
 * Creates an embedding model that needs no provider, download or network: words and their three-letter parts are
 * hashed into a vector. Texts that share words or word parts are similar; synonyms are not. For experiments and
 * tests; a provider's model or the lexical index finds more.
 */
export function createHashingEmbedding({
  dimensions = 256,
}: HashingEmbeddingOptions = {}): HashingEmbeddingModel {
  if (!Number.isInteger(dimensions) || dimensions < 8)
    throw new RangeError(`dimensions must be an integer of at least 8, not ${dimensions}.`)
  return {
    provider: 'capstan',
    model: `hashing-${dimensions}`,
    semantic: false,
    dimensions,
    embedTexts: async (texts) =>
      texts.map((document) => ({ document, vector: hashText(document, dimensions) })),
  }
}

function hashText(text: string, dimensions: number): Float32Array {
  const vector = new Float32Array(dimensions)
  for (const word of wordsOf(text)) {
    add(vector, word, 1)
    const padded = `<${word}>`
    for (let at = 0; at + gram <= padded.length; at++) add(vector, padded.slice(at, at + gram), gramWeight)
  }
  return vector
}

/** One bit of the hash decides the sign, so that features with the same position cancel out instead of adding up. */
function add(vector: Float32Array, feature: string, weight: number): void {
  const hash = fnv1a(feature)
  const place = (hash >>> 1) % vector.length
  vector[place] = (vector[place] ?? 0) + (hash & 1 ? weight : -weight)
}
