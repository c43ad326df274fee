import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Jobs } from './jobs.js'
import { ProcessSnapshot, readProcess } from './process-table.js'

/** A table in which a process that can have left a child has ended at every look. */
class UncertainSnapshot extends ProcessSnapshot {
  override isIncomplete(): boolean {
    return true
  }
}

/** A job whose end cannot be seen in the process table. */
function startJob() {
  const child = spawn('/bin/sleep', ['600'], { stdio: 'ignore', detached: true })
  onTestFinished(() => void child.kill('SIGKILL'))
  const pid = child.pid ?? -1
  const finished: unknown[] = []
  const jobs = new Jobs({
    now: () => 0,
    graceMs: 200,
    killMs: 5_000,
    takeSnapshot: () => new UncertainSnapshot((one) => one === pid),
  })
  const exit = once(child, 'exit').then(() => ({ exitCode: null }))
  const running = {
    trace: { leader: { pid, startTime: readProcess(pid)?.startTime ?? '' }, contained: false },
    output: {
      bytes: 0,
      read: async (from: number) => ({ bytes: Buffer.alloc(0), from }),
      close: async () => undefined,
    },
    startedAt: 0,
    exit,
    ended: exit.then(() => undefined),
    isWriting: () => false,
    stopReading: () => undefined,
    unref: () => undefined,
  }
  const limits = {
    reached: new Promise<never>(() => undefined),
    kill: () => undefined,
    after: () => undefined,
  }
  const finish = async (end: unknown): Promise<void> => void finished.push(end)
  const job = jobs.add('sleep 600', running as unknown as Parameters<Jobs['add']>[1], { finish, limits })
  return { jobs, job, finished, child, exit }
}

describe('a job whose end is uncertain because other processes start and end all the time', () => {
  it('has ended once it was killed', async () => {
    const { jobs, job, finished } = startJob()
    expect(await jobs.kill(job.id)).toMatchObject({ running: false })
    expect(finished).toHaveLength(1)
  })

  it('is finished when the jobs are closed, so that nothing that it holds is left', async () => {
    const { jobs, finished } = startJob()
    await jobs.close()
    expect(finished).toHaveLength(1)
  })

  it('counts as running if it ended by itself, until the table shows that nothing is left of it', async () => {
    const { jobs, finished, child, exit } = startJob()
    child.kill('SIGKILL')
    await exit
    expect(jobs.list()).toMatchObject([{ running: true }])
    expect(finished).toEqual([])
  })
})
