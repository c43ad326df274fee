import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import type { AgentConfigInput } from '../../src/agent/config/index.js'
import type { ScheduleClock } from '../../src/agent/dir/schedule-clock.js'
import type { FireReport, ServeEvent } from '../../src/agent/dir/serve-events.js'
import { temporaryDirectory } from '../support/temporary-directory.js'

/** A directory with these files; gone after the test. */
export async function directoryWith(files: Readonly<Record<string, string>>): Promise<string> {
  const path = temporaryDirectory()
  await putFiles(path, files)
  return path
}

export async function putFiles(path: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(path, name)), { recursive: true })
    await writeFile(join(path, name), text)
  }
}

/** An agent of its own user directory, closed after the test. */
export async function newAgent(
  config: AgentConfigInput = {},
  env: Readonly<Record<string, string>> = {},
): Promise<Agent> {
  const userDir = await directoryWith({})
  const agent = await Agent.create(config, { userDir, env })
  onTestFinished(() => agent.close())
  return agent
}

/** Collects the events of a served directory, and lets a test wait for them. */
export class EventCollector {
  readonly events: ServeEvent[] = []
  readonly reports: FireReport[] = []
  #wake: (() => void)[] = []

  readonly onEvent = (event: ServeEvent): void => {
    this.events.push(event)
    if (event.type === 'schedule_ended') this.reports.push(event.report)
    for (const wake of this.#wake.splice(0)) wake()
  }

  /** What never becomes so fails the test by its own time limit. */
  async until(isSo: () => boolean): Promise<void> {
    while (!isSo()) await new Promise<void>((resolve) => this.#wake.push(resolve))
  }

  /** Until so many fires have ended that were not skipped. */
  async made(count: number): Promise<readonly FireReport[]> {
    await this.until(() => this.ran().length >= count)
    return this.ran()
  }

  ran(): readonly FireReport[] {
    return this.reports.filter(({ status }) => status !== 'skipped')
  }

  skipped(): string[] {
    return this.reports.flatMap((report) => (report.status === 'skipped' ? [report.reason] : []))
  }
}

/** Time that moves when a test says so, and only once everybody has gone to sleep. */
export class HandClock implements ScheduleClock {
  #now: number
  #sleepers: { until: number; wake(): void }[] = []

  constructor(start: string) {
    this.#now = Date.parse(start)
  }

  now(): number {
    return this.#now
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const sleeper = { until: this.#now + ms, wake: () => done() }
      const done = (): void => {
        this.#sleepers = this.#sleepers.filter((one) => one !== sleeper)
        signal.removeEventListener('abort', done)
        resolve()
      }
      if (signal.aborted) return resolve()
      signal.addEventListener('abort', done, { once: true })
      this.#sleepers.push(sleeper)
    })
  }

  /** Sets the clock as an administrator would: timers that run keep their remaining time. */
  set(time: string): void {
    const moved = Date.parse(time) - this.#now
    this.#now += moved
    for (const sleeper of this.#sleepers) sleeper.until += moved
  }

  /** Lets time pass, waking each when it is due. */
  async pass(ms: number): Promise<void> {
    const end = this.#now + ms
    for (;;) {
      await settled()
      const next = this.#sleepers.toSorted((a, b) => a.until - b.until)[0]
      if (next === undefined || next.until > end) break
      this.#now = Math.max(this.#now, next.until)
      next.wake()
    }
    this.#now = end
    await settled()
  }
}

/** Looks until it is so. */
export async function eventually(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 5))
}

/** Lets pending work continue until it waits for something outside. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
}
