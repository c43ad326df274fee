/** Stops this process as Ctrl-Z does elsewhere, and calls back when it goes on. */
export function suspend(goneOn: () => void): void {
  // There is no such thing there.
  if (process.platform === 'win32') goneOn()
  else {
    process.once('SIGCONT', () => {
      // Whoever is in the background is not told that the terminal changed its size.
      process.kill(process.pid, 'SIGWINCH')
      goneOn()
    })
    // All of the job, as the terminal itself would: whoever started us waits, too.
    process.kill(0, 'SIGTSTP')
  }
}
