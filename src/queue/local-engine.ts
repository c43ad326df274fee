import type { Lane } from '../tool/lane.js'
import type { QueueSettings } from './config.js'
import type { LaneDepth, LaneEntry, QueueEngine, Room } from './engine.js'
import { Lanes } from './lanes.js'
import { LocalBoard, type TaskLog } from './task-board.js'

/** The engine that works in one process. */
export class LocalEngine implements QueueEngine {
  readonly board: LocalBoard
  readonly #lanes: Lanes

  constructor(settings: QueueSettings, newId: () => string, log?: TaskLog) {
    this.#lanes = new Lanes(settings)
    this.board = new LocalBoard({ leaseMs: settings.leaseMs, newId, log })
  }

  enter(entry: LaneEntry): Promise<Room | undefined> {
    return this.#lanes.enter(entry)
  }

  depth(lane: Lane): LaneDepth {
    return this.#lanes.depth(lane)
  }

  async close(): Promise<void> {
    this.#lanes.close()
    this.board.close()
  }
}
