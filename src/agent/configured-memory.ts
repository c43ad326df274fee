import { FileMemoryStore } from '../memory/index.js'
import type { SessionOptions } from '../session/options.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import type { AgentConfig } from './config/index.js'

/** The memory options of a configuration. All sessions share one store, and so its index. */
export function configuredMemory({
  memoryDir,
  memory,
}: AgentConfig): Pick<SessionOptions, 'memoryStore' | 'memory'> {
  const { maxShortTerm, maxWorking, pruneIntervalSecs, relevance, prunePolicy } = memory ?? {}
  const options = omitUndefined({ maxShortTerm, maxWorking, pruneIntervalSecs, relevance, prunePolicy })
  return omitUndefined({
    memoryStore: memoryDir === undefined ? undefined : new FileMemoryStore(memoryDir),
    memory: memory && options,
  })
}
