/** When and how a conversation that no longer fits is made smaller. */
export type CompactionSettings = {
  /** Whether it happens by itself. */
  readonly auto: boolean
  /** The share of the model's window from which on it happens. */
  readonly threshold: number
  /** How many of the user's last turns stay word for word. */
  readonly tailTurns?: number | undefined
  /** The share of the usable window that they may take. */
  readonly tailShare?: number | undefined
}

export const defaultCompaction = {
  auto: true,
  threshold: 0.8,
  tailTurns: 2,
  tailShare: 0.25,
} as const satisfies CompactionSettings
