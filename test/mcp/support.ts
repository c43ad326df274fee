import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import type { McpServerOptions } from '../../src/mcp/server-options.js'

const require = createRequire(import.meta.url)

/** The script that starts a server of the protocol's own makers. */
export function entryOf(name: 'everything' | 'filesystem'): string {
  const root = require.resolve(`@modelcontextprotocol/server-${name}/package.json`)
  return root.replace(/package\.json$/, 'dist/index.js')
}

/** Our own server that misbehaves; `token` is in its arguments, so that its processes can be found. */
export function badServer(fault: string, extra = '', more: Partial<McpServerOptions> = {}): McpServerOptions {
  return { name: 'bad', command: process.execPath, args: [badEntry, fault, extra], ...more }
}

export const badEntry = fileURLToPath(new URL('bad-server.mjs', import.meta.url))

/** How many processes have this word among their arguments. */
export function processesWith(word: string): number[] {
  return readdirSync('/proc').flatMap((pid) => {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) return []
    try {
      if (!readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(word)) return []
      return /\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8')) ? [] : [Number(pid)]
    } catch {
      // It ended while we looked.
      return []
    }
  })
}

/** Looks until it is so; what never becomes so fails the test by its own time limit. */
export async function eventually(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 20))
}
