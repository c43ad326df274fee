import { type Host, startHost } from '../support/host-process.js'

/** A node with the fires that it has reported. */
export class Node {
  readonly host: Host
  readonly begun: number[] = []
  asked = 0
  readonly made: number[] = []
  readonly failed: unknown[] = []
  /** Called after each line that the node wrote. */
  onLine: () => void = () => undefined
  #wake: (() => void)[] = []
  readonly ended: Promise<void>

  constructor(order: object) {
    this.host = startHost('agent-dir/node-host.mjs', order)
    this.ended = this.#read().catch(() => undefined)
  }

  async until(isSo: () => boolean): Promise<void> {
    while (!isSo()) await new Promise<void>((resolve) => this.#wake.push(resolve))
  }

  async #read(): Promise<void> {
    for (;;) {
      const line = await this.host.next()
      if (typeof line['begun'] === 'number') this.begun.push(line['begun'])
      if (line['asked'] === true) this.asked += 1
      if (line['status'] === 'completed') this.made.push(Number(line['firedAtMs']))
      if (line['status'] === 'failed') this.failed.push(line)
      this.onLine()
      for (const wake of this.#wake.splice(0)) wake()
    }
  }
}
