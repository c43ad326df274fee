/** Stops this process as Ctrl-Z does elsewhere, and calls back when it goes on. */
export function suspend(goneOn: () => void): void {
  // There is no such thing there.
  if (process.platform === 'win32') goneOn()
  else {
    process.once('SIGCONT', goneOn)
    // All of the job, as the terminal itself would: whoever started us waits, too.
    process.kill(0, 'SIGTSTP')
  }
}
