import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

/** Takes the place of the arguments of a process that only has other threads. */
export const withoutFirstThread = '(its first thread has ended)'

/**
 * Living processes whose environment or arguments hold the word: read from the kernel, not asked of the code under
 * test.
 */
export function processesWith(word: string): string[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^[0-9]+$/.test(name)) return []
    try {
      const line = readFileSync(`/proc/${name}/cmdline`, 'latin1').replaceAll('\0', ' ').trim()
      // A thread of the kernel, a process that has ended, or one whose first thread has: only its others are read.
      if (line === '') {
        const threads = readdirSync(`/proc/${name}/task`).filter((thread) => thread !== name)
        const isFound = threads.some((thread) =>
          readFileSync(`/proc/${name}/task/${thread}/environ`, 'latin1').includes(word),
        )
        return isFound ? [`${name} ${withoutFirstThread}`] : []
      }
      // The test's own host has the word in its arguments, as an order.
      if (line.includes('host.mjs')) return []
      if (!line.includes(word) && !readFileSync(`/proc/${name}/environ`, 'latin1').includes(word)) return []
      return [`${name} ${line}`]
    } catch {
      // Gone between being listed and being read, or another user's.
      return []
    }
  })
}

/**
 * Waits until the process table has the wanted number of processes, or the limit passes. Returns those that are there
 * then.
 */
export async function waitForProcesses(
  word: string,
  wanted: (count: number) => boolean,
  limitMs = 60_000,
): Promise<string[]> {
  const deadline = performance.now() + limitMs
  // A look reads two files of every process of the machine.
  for (let pause = 10; ; pause = Math.min(pause * 2, 160)) {
    const found = processesWith(word)
    if (wanted(found.length) || performance.now() > deadline) return found
    await delay(pause)
  }
}
