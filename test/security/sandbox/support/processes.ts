import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

/**
 * Living processes whose environment or arguments hold the word: read from the kernel, not asked of the code under
 * test.
 */
export function processesWith(word: string): string[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^[0-9]+$/.test(name)) return []
    try {
      const line = readFileSync(`/proc/${name}/cmdline`, 'latin1').replaceAll('\0', ' ').trim()
      // A thread of the kernel, or a process that has ended: they have no environment either.
      if (line === '') return []
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
