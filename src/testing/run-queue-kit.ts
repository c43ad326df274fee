import type {
  ClaimOptions,
  LiveEvent,
  QueueMember,
  RunClaim,
  RunQueue,
  RunSubmission,
} from '../run-queue/run-queue.js'
import { runChecks } from './run-checks.js'

/** Options of {@link checkRunQueue}. */
export type RunQueueKitOptions = {
  /**
   * Returns another queue on the same data, as another node would open it. For a queue of one process, close the first
   * one before. Absent: checks of restarts are skipped.
   */
  readonly again?: (queue: RunQueue) => RunQueue | Promise<RunQueue>
  /** Waits until the runs of an ended node are taken over. Not needed for a queue that does it at once. */
  readonly afterTakeover?: (queue: RunQueue) => Promise<void>
}

/**
 * Checks a queue of runs against its interface and returns a list of problems, empty when there are none.
 *
 * @example
 * ```ts
 * expect(await checkRunQueue(() => new MyQueue())).toEqual([])
 * ```
 */
export async function checkRunQueue(
  makeQueue: () => RunQueue | Promise<RunQueue>,
  options: RunQueueKitOptions = {},
): Promise<string[]> {
  return runChecks(checks, async (check) => {
    const queue = await makeQueue()
    await check(queue, options).finally(() => queue.close())
  })
}

type Check = (queue: RunQueue, options: RunQueueKitOptions) => Promise<void>

const checks: Readonly<Record<string, Check>> = {
  async 'a submitted run is claimed once, with everything that was submitted'(queue) {
    const submitted = run('a', {
      tenantId: 't',
      tier: 'gold',
      request: { metadata: { deep: [1, null, 'ü'] } },
    })
    same((await queue.submit(submitted)).outcome, 'submitted')
    const member = await join(queue)
    const claim = await claimOne(member)
    for (const [name, value] of Object.entries(submitted)) same(claim.run[name as 'prompt'], value as string)
    same(claim.run.state, 'active')
    same((await claims(member)).length, 0)
    same((await queue.get('a'))?.nodeId, member.nodeId)
  },

  async 'a second submission with the same id is the same run, and with another content is refused'(queue) {
    await queue.submit(run('a'))
    const again = await queue.submit(run('a'))
    same(again.outcome, 'known')
    same((await queue.submit(run('a', { prompt: 'other', digest: 'other' }))).outcome, 'conflict')
    same((await queue.submit(run('a', { tenantId: 'stranger' }))).outcome, 'conflict')
    same((await queue.list()).runs.length, 1)
  },

  async 'many submissions at once with one id are one run'(queue) {
    const outcomes = await Promise.all(Array.from({ length: 10 }, () => queue.submit(run('a'))))
    same(outcomes.filter(({ outcome }) => outcome === 'submitted').length, 1)
    same(outcomes.filter(({ outcome }) => outcome === 'known').length, 9)
  },

  async 'higher priorities come first, then the order of submission'(queue) {
    for (const [id, priority] of Object.entries({ a: 0, b: 5, c: 0, d: 5 }))
      await queue.submit(run(id, { priority }))
    const member = await join(queue)
    const order: string[] = []
    for (let at = 0; at < 4; at++) order.push((await claimOne(member)).run.runId)
    same(order.join(''), 'bdac')
  },

  async 'one run of a session is active at a time, in the order of submission'(queue) {
    const later = run('b', { sessionId: 's', priority: 9 })
    const member = await joinWith(queue, run('a', { sessionId: 's' }), later)
    const other = await join(queue)
    const first = await claimOne(member)
    same(first.run.runId, 'a')
    same((await claims(other)).length, 0)
    same(await member.settle(first, { state: 'completed' }), true)
    same((await claimOne(other)).run.runId, 'b')
  },

  async 'a failed run does not delay its session'(queue) {
    const member = await joinWith(queue, run('a', { sessionId: 's' }), run('b', { sessionId: 's' }))
    const first = await claimOne(member)
    await member.settle(first, { state: 'dead', error: { code: 'x', message: 'y' } })
    same((await claimOne(member)).run.runId, 'b')
    same((await queue.get('a'))?.error?.code, 'x')
  },

  async 'a run waits for its time'(queue) {
    await queue.submit(run('later', { notBeforeMs: Date.now() + 3_600_000 }))
    await queue.submit(run('now', { notBeforeMs: Date.now() - 1 }))
    const member = await join(queue)
    same(claimedIds(await claims(member)), ['now'])
  },

  async 'a node takes runs of its lanes only'(queue) {
    const member = await joinWith(queue, run('a', { lane: 'slow' }), run('b'))
    same(claimedIds(await claims(member)), ['b'])
    same(claimedIds(await claims(member, { lanes: ['slow'] })), ['a'])
  },

  async 'no tenant has more active runs than its limit, whichever node claims'(queue) {
    for (let at = 0; at < 6; at++) await queue.submit(run(`a${at}`, { tenantId: 'a' }))
    for (let at = 0; at < 6; at++) await queue.submit(run(`g${at}`, { tenantId: 'g', tier: 'gold' }))
    for (let at = 0; at < 2; at++) await queue.submit(run(`n${at}`))
    const members = await Promise.all([join(queue), join(queue), join(queue)])
    const tenantLimits = { default: 2, tiers: { gold: 3 } }
    const all = (await Promise.all(members.map((member) => claims(member, { max: 20, tenantLimits })))).flat()
    same(all.filter(({ run: { tenantId } }) => tenantId === 'a').length, 2)
    same(all.filter(({ run: { tenantId } }) => tenantId === 'g').length, 3)
    same(all.filter(({ run: { tenantId } }) => tenantId === undefined).length, 2)
    const [member] = members
    const own = all.find(({ run: { nodeId, tenantId } }) => nodeId === member.nodeId && tenantId === 'a')
    const [holder, claim] = own === undefined ? holderOf(members, all, 'a') : [member, own]
    await holder.settle(claim, { state: 'completed' })
    same((await claims(member, { max: 20, tenantLimits })).length, 1)
  },

  async 'a tenant with many waiting runs does not delay another'(queue) {
    for (let at = 0; at < 50; at++) await queue.submit(run(`a${at}`, { tenantId: 'a' }))
    await queue.submit(run('b', { tenantId: 'b' }))
    const member = await join(queue)
    const taken = await claims(member, { max: 3, tenantLimits: { default: 2 } })
    same(taken.map(({ run: { tenantId } }) => tenantId).sort(), ['a', 'a', 'b'])
  },

  async 'a settled claim cannot be settled again'(queue) {
    const { member, claim } = await claimed(queue, run('a'))
    same(await member.settle(claim, { state: 'failed', error: { code: 'c', message: 'm' } }), true)
    same(await member.settle(claim, { state: 'completed' }), false)
    same((await queue.get('a'))?.state, 'failed')
    same(await member.inspect(claim), undefined)
  },

  async 'a run that was released is claimed again, and reports about the first claim change nothing'(queue) {
    const { member, claim: first } = await claimed(queue, run('a'))
    await member.settle(first, { state: 'queued' })
    const second = await claimOne(member)
    same(second.attempt > first.attempt, true)
    same(second.run.takeovers, 0)
    same(await member.settle(first, { state: 'completed' }), false)
    same(await member.mark(first, { position: 9, takeovers: 9 }), false)
    same(await member.mark(second, { position: 3, takeovers: 1 }), true)
    const { position, takeovers, state } = (await queue.get('a')) ?? {}
    same([position, takeovers, state], [3, 1, 'active'])
  },

  async 'runs of a node that has left are taken over'(queue, { afterTakeover }) {
    const { member, claim } = await claimed(queue, run('a'))
    await member.leave()
    await afterTakeover?.(queue)
    const other = await join(queue)
    const second = await claimOne(other)
    same(second.run.takeovers, 1)
    same(second.attempt > claim.attempt, true)
    same((await queue.status()).takeovers, 1)
  },

  async 'a waiting run has no slot until a message wakes it, and then comes first'(queue) {
    await queue.submit(run('a', { sessionId: 's', tenantId: 't' }))
    await queue.submit(run('b', { sessionId: 's', tenantId: 't' }))
    await queue.submit(run('c', { priority: 9, tenantId: 't' }))
    const member = await join(queue)
    const limits = { max: 1, tenantLimits: { default: 1 } }
    const [c] = await claims(member, limits)
    same(c?.run.runId, 'c')
    if (c !== undefined) await member.settle(c, { state: 'completed' })
    const [a] = await claims(member, limits)
    same(a?.run.runId, 'a')
    if (a !== undefined) await member.settle(a, { state: 'waiting' })
    same((await queue.status()).waiting, 1)
    // The next run of the session must wait for it.
    same((await claims(member, limits)).length, 0)
    await queue.submit(run('d', { priority: 99, tenantId: 't' }))
    same(await queue.post('a', { id: 'm1', body: { yes: true } }, { wakes: true }), 'posted')
    const woken = await claimOne(member, limits)
    same(woken.run.runId, 'a')
    const inspected = await member.inspect(woken)
    same(inspected?.messages, [{ id: 'm1', body: { yes: true } }])
  },

  async 'a waiting run is queued at its time without a message'(queue) {
    const member = await joinWith(queue, run('a'), run('b'))
    const [first, second] = await claims(member)
    if (first === undefined || second === undefined) throw new Error('two runs could not be claimed')
    await member.settle(first, { state: 'waiting', wakeAtMs: Date.now() + 3_600_000 })
    await member.settle(second, { state: 'waiting', wakeAtMs: Date.now() - 1 })
    same(await wokenRuns(member), [second.run.runId])
  },

  async 'a run that is due does not wait for a later run of its session that is not'(queue) {
    const { member, claim } = await claimed(queue, run('a', { sessionId: 's' }))
    await queue.submit(run('later', { sessionId: 's', notBeforeMs: Date.now() + 3_600_000 }))
    await member.settle(claim, { state: 'waiting', wakeAtMs: Date.now() - 1 })
    same(await wokenRuns(member), ['a'])
  },

  async 'a message that arrives before a run waits is not lost'(queue) {
    const { member, claim } = await claimed(queue, run('a'))
    await queue.post('a', { id: 'm1', body: {} }, { wakes: true })
    await member.settle(claim, { state: 'waiting' })
    same((await claimOne(member)).run.runId, 'a')
  },

  async 'messages stay in order until they are acknowledged, and are posted once for each id'(queue) {
    const { member, claim } = await claimed(queue, run('a'))
    const outcomes: string[] = []
    for (const id of ['m1', 'm2', 'm2', 'm3']) outcomes.push(await queue.post('a', { id, body: { id } }))
    same(outcomes, ['posted', 'posted', 'known', 'posted'])
    same(await messageIds(member, claim), ['m1', 'm2', 'm3'])
    await member.acknowledge(claim, ['m1', 'm2'])
    same(await messageIds(member, claim), ['m3'])
    await member.settle(claim, { state: 'completed' })
    same(await queue.post('a', { id: 'm4', body: {} }), 'ended')
    same(await queue.post('unknown', { id: 'm4', body: {} }), 'ended')
  },

  async 'a run is cancelled before it starts, and by its node afterwards'(queue) {
    await queue.submit(run('a'))
    await queue.submit(run('b'))
    same(await queue.cancel('a'), 'cancelled')
    same(await queue.cancel('a'), 'ended')
    same(await queue.cancel('unknown'), 'unknown')
    const member = await join(queue)
    const claim = await claimOne(member)
    same(claim.run.runId, 'b')
    same(await queue.cancel('b'), 'requested')
    same((await member.inspect(claim))?.cancelRequested, true)
    await member.settle(claim, { state: 'cancelled' })
    same((await queue.get('b'))?.state, 'cancelled')
  },

  async 'a waiting run that is cancelled is queued, so that a node ends it'(queue) {
    const { member, claim } = await claimed(queue, run('a'))
    await member.settle(claim, { state: 'waiting' })
    same(await queue.cancel('a'), 'requested')
    same((await claimOne(member)).run.cancelRequested, true)
  },

  async 'a dead run is queued again on request'(queue) {
    const member = await joinWith(queue, run('a'))
    same(await queue.redrive('a'), false)
    const claim = await claimOne(member)
    await member.mark(claim, { position: 1, takeovers: 5 })
    await member.settle(claim, { state: 'dead', error: { code: 'too_many_takeovers', message: 'm' } })
    same((await queue.status()).dead, 1)
    same((await claims(member)).length, 0)
    same(await queue.redrive('a'), true)
    const again = await claimOne(member)
    same([again.run.takeovers, again.run.error], [0, undefined])
  },

  async 'a tenant sees and changes only its own runs'(queue) {
    const own = run('a', { tenantId: 'a' })
    const member = await joinWith(queue, own, run('b', { tenantId: 'b' }), run('none'))
    const all = await claims(member, { max: 3 })
    for (const claim of all) await member.publish(claim, [liveEvent(1)])
    const scope = { tenantId: 'a' }
    same(idsOf((await queue.list(scope)).runs), ['a'])
    same(await queue.get('b', scope), undefined)
    same(await queue.get('none', scope), undefined)
    same(await queue.cancel('b', scope), 'unknown')
    same(await queue.post('b', { id: 'm', body: {} }, scope), 'ended')
    same(await queue.redrive('b', scope), false)
    same((await queue.live('b', 0, scope)).length, 0)
    same((await queue.live('a', 0, scope)).length, 1)
    same((await queue.list()).runs.length, 3)
  },

  async 'runs are listed newest first, page by page, with filters'(queue) {
    for (let at = 0; at < 5; at++) await queue.submit(run(`r${at}`, { sessionId: at < 2 ? 's' : `s${at}` }))
    const first = await queue.list({ limit: 2 })
    same(idsOf(first.runs), ['r4', 'r3'])
    const second = await queue.list({ limit: 2, cursor: first.next })
    same(idsOf(second.runs), ['r2', 'r1'])
    const third = await queue.list({ limit: 2, cursor: second.next })
    same(idsOf(third.runs), ['r0'])
    same(third.next, undefined)
    same(idsOf((await queue.list({ sessionId: 's' })).runs), ['r1', 'r0'])
    await queue.cancel('r0')
    same(idsOf((await queue.list({ states: ['cancelled'] })).runs), ['r0'])
    same((await queue.list({ lane: 'other' })).runs, [])
  },

  async 'published events are read from a number on, and readers are woken'(queue) {
    const { member, claim } = await claimed(queue, run('a'))
    const woken = new Promise<void>((resolve) => {
      queue.watch('a', resolve)
    })
    await member.publish(claim, [liveEvent(1), liveEvent(2)])
    await member.publish(claim, [liveEvent(3)])
    await woken
    await until(async () => (await queue.live('a', 0)).length === 3)
    same(await queue.live('a', 1), [liveEvent(2), liveEvent(3)])
    const second = { ...claim, attempt: claim.attempt + 1 }
    await member.publish(second, [liveEvent(4)])
    same((await queue.live('a', 0)).length, 3)
  },

  async 'counters add up, and can be read'(queue) {
    await Promise.all(
      Array.from({ length: 10 }, (_, n) =>
        queue.count('tenant/day', { id: `addition ${n}`, tokens: 10, costUsd: 0.25 }),
      ),
    )
    const all = { tokens: 100, costUsd: 2.5 }
    same(await queue.count('tenant/day'), all)
    same(await queue.count('other'), { tokens: 0, costUsd: 0 })
    // An addition whose answer was lost is made again, also concurrently.
    const again = { id: 'addition 3', tokens: 10, costUsd: 0.25 }
    for (const totals of await Promise.all([again, again].map((add) => queue.count('tenant/day', add))))
      same(totals, all)
    same(await queue.count('tenant/day'), all)
  },

  async 'no reservation is made after a limit is reached, however many there are at once'(queue) {
    const limits = { tokens: 25, costUsd: 9 }
    const made = await Promise.all(
      Array.from({ length: 10 }, (_, n) =>
        queue.reserve('tenant/day', { id: `reservation ${n}`, tokens: 10, costUsd: 1 }, limits),
      ),
    )
    same(made.filter(({ isReserved }) => isReserved).length, 3)
    const all = { tokens: 30, costUsd: 3 }
    same(await queue.count('tenant/day'), all)
    // A reservation whose answer was lost is made again: it has the same outcome and is counted once.
    const known = made.findIndex(({ isReserved }) => isReserved)
    const again = { id: `reservation ${known}`, tokens: 10, costUsd: 1 }
    same(await queue.reserve('tenant/day', again, limits), { isReserved: true, totals: all })
    same((await queue.reserve('tenant/day', { ...again, id: 'new' }, limits)).isReserved, false)
    await queue.count('tenant/day', { id: 'correction', tokens: -10, costUsd: -1 })
    same((await queue.reserve('tenant/day', { ...again, id: 'later' }, limits)).totals, all)
    same((await queue.reserve('tenant/day', { ...again, id: 'cost' }, { costUsd: 3 })).isReserved, false)
    same((await queue.reserve('tenant/day', { ...again, id: 'free' }, {})).isReserved, true)
  },

  async 'runs that have just ended, and open ones, are not removed'(queue) {
    const member = await joinWith(queue, run('done'), run('active'), run('queued'))
    await member.settle(await claimOne(member), { state: 'completed' })
    await claimOne(member)
    same(await queue.removeEnded({ maxAgeMs: 0, maxRuns: 0 }), 0)
    same((await queue.list()).runs.length, 3)
  },

  async 'nodes and lanes are shown, and a node is asked to drain'(queue) {
    const member = await join(queue)
    await queue.submit(run('a'))
    await queue.submit(run('b'))
    await claimOne(member)
    const status = await queue.status()
    const [node] = status.nodes
    same([node?.id, node?.name, node?.slots, node?.active], [member.nodeId, 'node', 4, 1])
    same(
      status.lanes.map(({ lane, queued, active }) => [lane, queued, active]),
      [['default', 1, 1]],
    )
    const drained = new Promise<void>((resolve) => {
      member.onWake((reason) => reason === 'drain' && resolve())
    })
    same(await queue.drain(member.nodeId), true)
    await drained
    same((await claims(member)).length, 0)
    same((await queue.status()).nodes[0]?.isDraining, true)
    same(await queue.drain(unknownNode), false)
    await member.leave()
    same((await queue.status()).nodes, [])
  },

  async 'a node is woken by work, messages and cancellation'(queue) {
    const member = await join(queue)
    const reasons: string[] = []
    member.onWake((reason) => void reasons.push(reason))
    await queue.submit(run('a'))
    await until(async () => reasons.includes('work'))
    await claimOne(member)
    await queue.post('a', { id: 'm', body: {} })
    await until(async () => reasons.includes('messages'))
    await queue.cancel('a')
    await until(async () => reasons.includes('cancel'))
  },

  async 'everything survives a restart'(queue, { again, afterTakeover }) {
    if (again === undefined) return
    const { member } = await claimed(queue, run('active', { tenantId: 't' }))
    await queue.post('active', { id: 'm', body: { text: 'x' } })
    await queue.submit(run('queued', { priority: 3 }))
    await queue.submit(run('waiting', { priority: 9 }))
    await member.settle(await claimOne(member), { state: 'waiting' })
    await queue.submit(run('done', { priority: 99 }))
    await member.settle(await claimOne(member), { state: 'completed' })
    const addition = { id: 'a', tokens: 7, costUsd: 1 }
    await queue.count('c', addition)
    const next = await again(queue)
    try {
      await afterTakeover?.(next)
      const other = await join(next)
      const first = await claimOne(other)
      same([first.run.runId, first.run.takeovers], ['active', 1])
      same((await other.inspect(first))?.messages, [{ id: 'm', body: { text: 'x' } }])
      same((await claimOne(other)).run.runId, 'queued')
      same((await claims(other)).length, 0)
      same((await next.get('waiting'))?.state, 'waiting')
      same((await next.get('done'))?.state, 'completed')
      same((await next.submit(run('done', { priority: 99 }))).outcome, 'known')
      same(await next.count('c', addition), { tokens: 7, costUsd: 1 })
    } finally {
      await next.close()
    }
  },
}

const unknownNode = '00000000-0000-4000-8000-000000000000'

function run(runId: string, more: Partial<RunSubmission> = {}): RunSubmission {
  return {
    runId,
    sessionId: `session-${runId}`,
    prompt: `do ${runId}`,
    lane: 'default',
    priority: 0,
    request: {},
    digest: `digest-${runId}`,
    ...more,
  }
}

function liveEvent(sequence: number): LiveEvent {
  return { sequence, timestampMs: sequence, event: { type: 'text_delta', text: `${sequence}` } }
}

/** Submits runs in this order and joins as a new node. */
async function joinWith(queue: RunQueue, ...submissions: readonly RunSubmission[]): Promise<QueueMember> {
  for (const submission of submissions) await queue.submit(submission)
  return join(queue)
}

/** Submits a run and claims it as a new node. */
async function claimed(
  queue: RunQueue,
  submission: RunSubmission,
): Promise<{ readonly member: QueueMember; readonly claim: RunClaim }> {
  const member = await joinWith(queue, submission)
  return { member, claim: await claimOne(member) }
}

const idsOf = (runs: readonly { readonly runId: string }[]): string[] => runs.map(({ runId }) => runId)
const claimedIds = (all: readonly RunClaim[]): string[] => idsOf(all.map(({ run: one }) => one))

async function messageIds(member: QueueMember, claim: RunClaim): Promise<string[] | undefined> {
  return (await member.inspect(claim))?.messages.map(({ id }) => id)
}

/** Returns the first runs that can be claimed, once there are any. */
async function wokenRuns(member: QueueMember): Promise<string[]> {
  const woken: string[] = []
  await until(async () => woken.push(...claimedIds(await claims(member))) > 0)
  return woken
}

function join(queue: RunQueue): Promise<QueueMember> {
  return queue.join({ name: 'node', host: 'host', pid: 1, version: '0', slots: 4, lanes: ['default'] })
}

function claims(member: QueueMember, options: Partial<ClaimOptions> = {}): Promise<readonly RunClaim[]> {
  return member.claim({ lanes: ['default'], max: 10, ...options })
}

async function claimOne(member: QueueMember, options: Partial<ClaimOptions> = {}): Promise<RunClaim> {
  const [claim] = await claims(member, { ...options, max: 1 })
  if (claim === undefined) throw new Error('no run could be claimed')
  return claim
}

function holderOf(
  members: readonly QueueMember[],
  all: readonly RunClaim[],
  tenantId: string,
): [QueueMember, RunClaim] {
  const claim = all.find(({ run: { tenantId: own } }) => own === tenantId)
  const member = members.find(({ nodeId }) => nodeId === claim?.run.nodeId)
  if (claim === undefined || member === undefined) throw new Error(`no active run of the tenant ${tenantId}`)
  return [member, claim]
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  for (let at = 0; at < 600; at++) {
    if (await holds()) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  throw new Error('it did not happen within a minute')
}

function same(actual: unknown, expected: unknown): void {
  const [found, wanted] = [JSON.stringify(actual), JSON.stringify(expected)]
  if (found !== wanted) throw new Error(`${found} instead of ${wanted}`)
}
