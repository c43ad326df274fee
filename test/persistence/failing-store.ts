import { StoreError, type StoreErrorCode } from '../../src/store/errors.js'
import { MemorySessionStore } from '../../src/store/memory-store.js'
import type { OpenLogOptions, SessionLog } from '../../src/store/session-store.js'

export type StoreOperation = 'append' | 'blob' | 'flush'

/** A store whose log fails at its k-th operation, and at every one after it as logs do. */
export class FailingStore extends MemorySessionStore {
  readonly operations: StoreOperation[] = []
  readonly #failAt: number
  readonly #code: StoreErrorCode

  constructor(failAt: number, code: StoreErrorCode = 'store_full') {
    super()
    this.#failAt = failAt
    this.#code = code
  }

  get failed(): StoreOperation | undefined {
    return this.operations[this.#failAt - 1]
  }

  override async open(sessionId: string, options: OpenLogOptions): Promise<SessionLog> {
    const log = await super.open(sessionId, options)
    const step = async (operation: StoreOperation): Promise<void> => {
      if (this.operations.push(operation) < this.#failAt) return
      // As with a disk: the answer takes a moment.
      await new Promise((resolve) => setImmediate(resolve))
      throw new StoreError(this.#code, `No space is left for session '${sessionId}'.`)
    }
    return {
      lease: log.lease,
      append: async (records) => {
        await step('append')
        await log.append(records)
      },
      writeBlob: async (bytes) => {
        await step('blob')
        return log.writeBlob(bytes)
      },
      flush: async () => {
        await step('flush')
        await log.flush()
      },
      close: () => log.close(),
    }
  }
}
