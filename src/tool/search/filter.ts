import type { VectorMetadata, VectorMetadataValue } from './embedding.js'

/** A condition on metadata. A document without metadata never matches. */
export type VectorFilter =
  | { type: 'eq'; key: string; value: VectorMetadataValue }
  | { type: 'gt'; key: string; value: string | number }
  | { type: 'lt'; key: string; value: string | number }
  | { type: 'and'; filters: VectorFilter[] }
  | { type: 'or'; filters: VectorFilter[] }

/** Creates filters: `vectorFilter.and(vectorFilter.eq('team', 'billing'), vectorFilter.gt('version', 2))`. */
export const vectorFilter = {
  eq: (key: string, value: VectorMetadataValue): VectorFilter => ({ type: 'eq', key, value }),
  gt: (key: string, value: string | number): VectorFilter => ({ type: 'gt', key, value }),
  lt: (key: string, value: string | number): VectorFilter => ({ type: 'lt', key, value }),
  and: (...filters: VectorFilter[]): VectorFilter => ({ type: 'and', filters }),
  or: (...filters: VectorFilter[]): VectorFilter => ({ type: 'or', filters }),
} as const

/** Returns whether metadata matches a filter. Values compare only within one type: `'10'` is not greater than `9`. */
export function matchesVectorFilter(
  metadata: VectorMetadata | undefined,
  filter: VectorFilter | undefined,
): boolean {
  if (filter === undefined) return true
  if (metadata === undefined) return false
  if (filter.type === 'and') return filter.filters.every((inner) => matchesVectorFilter(metadata, inner))
  if (filter.type === 'or') return filter.filters.some((inner) => matchesVectorFilter(metadata, inner))
  if (!Object.hasOwn(metadata, filter.key)) return false
  const value = metadata[filter.key]
  if (filter.type === 'eq') return value === filter.value
  if (typeof value !== typeof filter.value || value === null || value === undefined) return false
  return filter.type === 'gt' ? value > filter.value : value < filter.value
}
