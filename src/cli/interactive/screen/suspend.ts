/** Suspends the process like Ctrl-Z in other programs, and calls `resumed` when it continues. */
export function suspend(resumed: () => void): void {
  // Windows has no job control.
  if (process.platform === 'win32') resumed()
  else {
    process.once('SIGCONT', () => {
      // A background process gets no signal when the size of the terminal changes.
      process.kill(process.pid, 'SIGWINCH')
      resumed()
    })
    // The whole process group, as the terminal does, because the parent process waits for this one.
    process.kill(0, 'SIGTSTP')
  }
}
