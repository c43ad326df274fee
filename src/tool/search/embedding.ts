/** A text and its vector. */
export type Embedding = { document: string; vector: readonly number[] | Float32Array }

/** A model that turns texts into vectors: one for each text, in order, all of one length. */
export interface EmbeddingModel {
  /** The maximum number of texts per call. Absent: any number. */
  readonly maxBatchSize?: number
  embedTexts(texts: string[]): Promise<Embedding[]>
}

/** One value of a document's metadata. */
export type VectorMetadataValue = string | number | boolean | null
/** Metadata of a document, for filters. */
export type VectorMetadata = Record<string, VectorMetadataValue>

/** A document with its vectors: one, or one for each of several texts. */
export type EmbeddedDocument<Document, Metadata extends VectorMetadata = VectorMetadata> = {
  id: string
  document: Document
  metadata?: Metadata | undefined
  embeddings: Embedding[]
}

/** Embeds texts in batches of the model's size, with limited concurrency. Results are in the order of the texts. */
export async function embedInBatches(
  model: EmbeddingModel,
  texts: readonly string[],
  concurrency = 1,
): Promise<Embedding[]> {
  const size = countFrom1(
    'maxBatchSize of the embedding model',
    model.maxBatchSize ?? Math.max(1, texts.length),
  )
  const workers = countFrom1('concurrency', concurrency)
  const batches: string[][] = []
  for (let from = 0; from < texts.length; from += size) batches.push(texts.slice(from, from + size))
  const results: Embedding[][] = []
  let next = 0
  let failed = false
  const work = async (): Promise<void> => {
    while (!failed && next < batches.length) {
      const at = next++
      try {
        results[at] = await embedBatch(model, batches[at] ?? [])
      } catch (error) {
        failed = true
        throw error
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(workers, batches.length) }, work))
  return results.flat()
}

function countFrom1(name: string, value: number): number {
  if (!Number.isInteger(value) || value < 1)
    throw new RangeError(`The ${name} must be an integer of at least 1, not ${value}.`)
  return value
}

async function embedBatch(model: EmbeddingModel, batch: string[]): Promise<Embedding[]> {
  const embeddings = await model.embedTexts(batch)
  if (embeddings.length !== batch.length) {
    throw new Error(`The embedding model returned ${embeddings.length} vectors for ${batch.length} texts.`)
  }
  return embeddings
}
