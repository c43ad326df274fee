import { setTimeout as pause } from 'node:timers/promises'
import type { ClusterStatus } from '../../run-queue/run-queue.js'
import type { Args } from '../args.js'
import { CommandLineError } from '../errors.js'
import { exitCodes } from '../exit-codes.js'
import type { Screen } from '../interactive/screen/screen.js'
import { type Io, rowsOf, write } from '../io.js'
import { safeJson, safeLine } from '../terminal/safe-text.js'
import { cutTo } from '../terminal/width.js'
import { connect, withCluster } from './connect.js'

const watchEveryMs = 2_000

/** Prints the state of the cluster, once or until the command is stopped. On a terminal it is redrawn in place. */
export async function printStatus(args: Args, io: Io): Promise<number> {
  const { queue, close } = await connect(args, io)
  const isDrawn = args.has('watch') && !args.has('json') && io.isTTY.stdout && io.env['TERM'] !== 'dumb'
  const screen = isDrawn ? await openScreen(io) : undefined
  let lines: readonly string[] = []
  try {
    for (;;) {
      const status = await queue.status()
      lines = args.has('json') ? [safeJson(status)] : linesOf(status, Date.now())
      if (screen === undefined) await write(io.stdout, `${lines.join('\n')}\n`)
      else screen.show({ lines: lines.map((line) => cutTo(line, io.columns() - 1)) })
      if (!args.has('watch')) return exitCodes.done
      await pause(watchEveryMs, undefined, { signal: io.signal }).catch(() => undefined)
      if (io.signal.aborted) return exitCodes.done
    }
  } finally {
    // The last state stays on the terminal.
    screen?.print(lines, { lines: [] })
    screen?.end()
    await close()
  }
}

async function openScreen(io: Io): Promise<Screen> {
  const { Screen } = await import('../interactive/screen/screen.js')
  return new Screen(io.stdout, { columns: () => io.columns(), rows: () => rowsOf(io.stdout) })
}

/** Asks a node to drain: the one with this id or name. */
export async function drainNode(args: Args, io: Io): Promise<number> {
  const given = args.required(0, 'NODE', '"capstan cluster status" lists the nodes.')
  return withCluster(args, io, async ({ queue }) => {
    const { nodes } = await queue.status()
    const exact = nodes.filter(({ id }) => id === given)
    const found = exact.length > 0 ? exact : nodes.filter(({ name }) => name === given)
    const [node] = found
    if (node === undefined || found.length > 1)
      throw new CommandLineError(
        `${found.length === 0 ? 'No node is' : `${found.length} nodes are`} called ${JSON.stringify(given)}.`,
        '"capstan cluster status" lists the nodes.',
      )
    await queue.drain(node.id)
    await write(
      io.stdout,
      args.has('json') ? `${JSON.stringify({ nodeId: node.id })}\n` : `Draining ${node.id}.\n`,
    )
    return exitCodes.done
  })
}

function linesOf({ nodes, lanes, waiting, dead, takeovers }: ClusterStatus, now: number): string[] {
  const nodeLines = nodes.map(
    ({ id, name, host, active, slots, seenAtMs, isDraining }) =>
      `  ${id}  ${safeLine(name, 40)}  ${safeLine(host, 40)}  ${active}/${slots} active  seen ${Math.max(0, Math.round((now - seenAtMs) / 1_000))} s ago${isDraining ? '  draining' : ''}`,
  )
  const laneLines = lanes.map(
    ({ lane, queued, active, oldestWaitMs }) =>
      `  ${safeLine(lane, 40)}  ${queued} queued  ${active} active  oldest wait ${Math.round(oldestWaitMs / 1_000)} s`,
  )
  return [
    `nodes: ${nodes.length}`,
    ...nodeLines,
    `lanes: ${lanes.length}`,
    ...laneLines,
    `waiting for a user: ${waiting}`,
    `dead letters: ${dead}`,
    `takeovers: ${takeovers}`,
  ]
}
