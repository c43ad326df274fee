import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

/**
 * The command line of each process, with one space between words. Linux lists them as files: starting `ps` takes
 * longer, and tests look many times.
 */
export function commandLines(): string[] {
  if (process.platform !== 'linux')
    return spawnSync('ps', ['-eo', 'args'], { encoding: 'utf8' })
      .stdout.split('\n')
      .map((line) => line.trim())
  return readdirSync('/proc').flatMap((name) => {
    if (!/^[0-9]+$/.test(name)) return []
    try {
      return [readFileSync(`/proc/${name}/cmdline`, 'latin1').replaceAll('\0', ' ').trim()]
    } catch {
      // The process has ended since it was listed.
      return []
    }
  })
}
