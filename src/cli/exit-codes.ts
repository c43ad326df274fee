/** What the command ends with. Scripts rely on them: docs/command.md has the table. */
export const exitCodes = {
  done: 0,
  failed: 1,
  /** The command was called wrongly; nothing was begun. */
  usage: 2,
  /** It ended, but not all of it was done: calls were refused because nobody could be asked, or checks did not pass. */
  incomplete: 3,
  /** A limit was met: rounds, time, budget. */
  limit: 4,
  /** No model is configured, or it could not be reached or did not answer. */
  model: 5,
  cancelled: 130,
  terminated: 143,
} as const

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]
