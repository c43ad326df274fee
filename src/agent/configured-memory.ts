import { FileMemoryStore } from '../memory/index.js'
import type { SessionOptions } from '../session/options.js'
import type { AgentConfig } from './config/index.js'

/** What a configuration says of memories, for sessions that say nothing of their own. One store, so that they share its index. */
export function configuredMemory({
  memoryDir,
  memory,
}: AgentConfig): Pick<SessionOptions, 'memoryStore' | 'memory'> {
  const { maxShortTerm, maxWorking, pruneIntervalSecs, relevance, prunePolicy } = memory ?? {}
  return {
    ...(memoryDir !== undefined && { memoryStore: new FileMemoryStore(memoryDir) }),
    ...(memory !== undefined && {
      memory: {
        ...(maxShortTerm !== undefined && { maxShortTerm }),
        ...(maxWorking !== undefined && { maxWorking }),
        ...(pruneIntervalSecs !== undefined && { pruneIntervalSecs }),
        ...(relevance !== undefined && { relevance }),
        ...(prunePolicy !== undefined && { prunePolicy }),
      },
    }),
  }
}
