import { spawnSync } from 'node:child_process'

/** Whether this is Linux and Perl can start threads, which `programWithoutFirstThread` needs. */
export const hasThreads =
  process.platform === 'linux' && spawnSync('perl', ['-Mthreads', '-e', '1']).status === 0

const exit = process.arch === 'arm64' ? 93 : 60

/**
 * Returns a command whose process runs this Perl code in a second thread after its first one has ended. Such a process
 * looks like a zombie, and only its other threads have an environment, memory and open files. The code has no quotes.
 */
export function programWithoutFirstThread(code: string): string {
  const wait =
    'do { select undef, undef, undef, 0.01; open F, q(<), qq(/proc/$$/stat) } until <F> =~ /[)] Z /'
  return `perl -Mthreads -e 'threads->create(sub { ${wait}; ${code} }); syscall(${exit}, 0)'`
}
