/** When and how a conversation that no longer fits is compacted. */
export type CompactionSettings = {
  /** Whether compaction happens automatically. */
  readonly auto: boolean
  /** The share of the model's window at which compaction starts. */
  readonly threshold: number
  /** How many of the user's last turns remain unchanged. */
  readonly tailTurns?: number | undefined
  /** The share of the usable window that these turns can use. */
  readonly tailShare?: number | undefined
}

export const defaultCompaction = {
  auto: true,
  threshold: 0.8,
  tailTurns: 2,
  tailShare: 0.25,
} as const satisfies CompactionSettings
