import { spawnSync } from 'node:child_process'

/** Whether Perl can start threads here, which `programWithoutFirstThread` needs. */
export const hasThreads = spawnSync('perl', ['-Mthreads', '-e', '1']).status === 0

const exit = process.arch === 'arm64' ? 93 : 60

/**
 * Returns a command whose process goes on in a second thread after its first one has ended. Such a process looks like a
 * zombie, and only its other threads have an environment, memory and open files. The Perl code runs in the second thread
 * and contains no quotes.
 */
export function programWithoutFirstThread(code: string): string {
  return `perl -Mthreads -e 'threads->create(sub { ${code} }); syscall(${exit}, 0)'`
}
