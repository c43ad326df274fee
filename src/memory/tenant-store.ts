import { omitUndefined } from '../tool/omit-undefined.js'
import type { MemoryItem } from './memory-item.js'
import type { MemoryStore } from './memory-store.js'

/**
 * Returns the part of a store that belongs to one tenant: items of other tenants are neither found nor deleted.
 * Sessions without a tenant have their own part. Returns the same object for the same store and tenant, so that they
 * share an index.
 */
export function tenantStore(store: MemoryStore, tenantId: string | undefined): MemoryStore {
  const parts = known.get(store) ?? new Map<string | undefined, MemoryStore>()
  known.set(store, parts)
  const part = parts.get(tenantId) ?? partOf(store, tenantId)
  parts.set(tenantId, part)
  return part
}

const known = new WeakMap<MemoryStore, Map<string | undefined, MemoryStore>>()

function partOf(store: MemoryStore, tenantId: string | undefined): MemoryStore {
  const isOwn = ({ metadata }: MemoryItem): boolean => metadata['tenantId'] === tenantId
  let seen: ReadonlyMap<string, MemoryItem> | undefined
  let own: ReadonlyMap<string, MemoryItem> = new Map()
  return {
    backend: store.backend,
    add: (item) => store.add({ ...item, metadata: { ...item.metadata, ...omitUndefined({ tenantId }) } }),
    async list() {
      const all = await store.list()
      if (all === seen) return own
      const items = [...all].filter(([, item]) => isOwn(item))
      own = items.length === all.size ? all : new Map(items)
      seen = all
      return own
    },
    async delete(id) {
      const item = (await store.list()).get(id)
      return item !== undefined && isOwn(item) && store.delete(id)
    },
    ...(store.changed !== undefined && {
      changed: (ids: readonly string[]) => store.changed?.(ids) ?? Promise.resolve(false),
    }),
    ...(store.problems !== undefined && { problems: () => store.problems?.() ?? [] }),
  }
}
