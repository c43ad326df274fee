/** The exit codes of the command. Scripts rely on them; docs/command.md has the table. */
export const exitCodes = {
  done: 0,
  failed: 1,
  usage: 2,
  incomplete: 3,
  limit: 4,
  model: 5,
  cancelled: 130,
  terminated: 143,
} as const

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

/** The meaning of each exit code, as help shows it. */
export const exitCodeMeanings: Readonly<Record<ExitCode, string>> = {
  0: 'success',
  1: 'failure',
  2: 'invalid arguments or configuration; nothing was started',
  3: 'incomplete: calls were refused because no user could be asked, checks did not pass, or the answer was cut off',
  4: 'a limit was reached: rounds, time, budget, or the same call repeated',
  5: 'no model is configured, or the model could not be reached or did not answer',
  130: 'cancelled (Ctrl-C)',
  143: 'terminated (SIGTERM or SIGHUP)',
}
