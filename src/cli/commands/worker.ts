import { basename } from 'node:path'
import { workspaceRoot } from '../../agent/workspace-root.js'
import { workerLimits } from '../../cluster/worker-limits.js'
import type { TenantQuotas } from '../../cluster/worker-options.js'
import { untilAborted } from '../../tool/unless-aborted.js'
import type { Args } from '../args.js'
import { clusterKeyOf, connect, databaseOf, noClusterKey } from '../cluster/connect.js'
import { databaseFlags } from '../cluster/database-flags.js'
import { hasCostQuota, tenantQuotaFlags, tenantQuotasOf } from '../cluster/tenant-quotas.js'
import type { Command } from '../command.js'
import { UsageError } from '../errors.js'
import { exitCodes } from '../exit-codes.js'
import { type Io, write } from '../io.js'
import { type Prepared, prepare, priceOf } from '../setup/prepare.js'
import { sessionFlags } from '../setup/session-flags.js'
import { safeLine } from '../terminal/safe-text.js'

const otherFlags = ['session', 'continue', 'agent', 'directory', 'store']

export const command: Command = {
  usage: ['[--workspace [NAME=]DIR …] [--slots N] [--lane NAME …]'],
  description: `Executes runs of the cluster until it gets SIGTERM or SIGINT. Its configuration gives the model, the tools, the rules and the workspaces; a
submitted run can only restrict them. On SIGTERM it takes no more runs, finishes the rounds of active ones and releases them, so another worker continues
them. CAPSTAN_CLUSTER_KEY must be the same for all workers and clients that answer approvals.`,
  options: [
    ...databaseFlags,
    {
      name: 'workspace',
      value: 'dir',
      repeatable: true,
      summary: 'A directory that runs can work in, as DIR or NAME=DIR (default: the current one)',
    },
    { name: 'slots', value: 'n', summary: 'Runs that are active at once (default: 4)' },
    { name: 'lane', value: 'name', repeatable: true, summary: 'A lane to serve (default: default)' },
    { name: 'name', value: 'name', summary: 'Name of this node (default: the host name)' },
    { name: 'tenant-limit', value: 'n', summary: 'Active runs of one tenant in the whole cluster' },
    {
      name: 'tier-limit',
      value: 'tier=n',
      repeatable: true,
      summary: 'Another limit for tenants of this tier',
    },
    ...tenantQuotaFlags,
    {
      name: 'suspend-after',
      value: 'duration',
      summary: 'How long a run that waits for a user keeps its slot (default: 10s)',
    },
    {
      name: 'keep-runs',
      value: 'duration',
      summary: 'How long the queue stores runs that have ended (default: 720h)',
    },
    {
      name: 'max-ended-runs',
      value: 'n',
      summary: 'Runs that have ended that the queue stores at most (default: 100000)',
    },
    {
      name: 'drain',
      value: 'duration',
      summary: 'How long rounds can take to finish after the stop (default: 30s)',
    },
    { name: 'json', summary: 'Print the id of the node as JSON' },
    ...sessionFlags.filter(({ name }) => !otherFlags.includes(name)),
  ],
  examples: [
    {
      line: 'capstan worker --workspace main=/srv/app --slots 8',
      comment: 'Execute up to eight runs at once',
    },
    { line: 'capstan worker --lane default --lane night', comment: 'Serve two lanes' },
  ],
  async run(args, io) {
    const workspaces = workspacesOf(args, io)
    const drainMs = args.duration('drain') ?? 30_000
    const clusterKey = clusterKeyOf(io)
    const given = {
      slots: args.count('slots'),
      lanes: args.has('lane') ? args.values('lane') : undefined,
      tenantLimits:
        args.has('tenant-limit') || args.has('tier-limit')
          ? { default: args.count('tenant-limit'), tiers: tiersOf(args) }
          : undefined,
      tenantQuotas: tenantQuotasOf(args),
      retention: {
        maxAgeMs: args.duration('keep-runs'),
        maxRuns: args.count('max-ended-runs', 0),
      },
      name: args.value('name'),
      suspendAfterMs: args.duration('suspend-after'),
    }
    await databaseOf(args, io)
    const [first = '.'] = Object.values(workspaces)
    const prepared = await prepare(args.with({ directory: first, store: 'none' }), io)
    try {
      checkPrice(workerLimits(given, prepared.config.cluster).tenantQuotas, prepared)
      const keyNote = clusterKey === undefined ? [noClusterKey] : []
      for (const note of [...prepared.warnings, ...prepared.notes, ...keyNote])
        await write(io.stderr, `${safeLine(note, 500)}\n`)
      const cluster = await connect(args, io).catch((error: unknown) => {
        // Stopped before it started, so there is nothing to drain.
        if (io.signal.aborted) return undefined
        throw error
      })
      if (cluster === undefined) return exitCodes.done
      try {
        const { Worker } = await import('../../cluster/index.js')
        const stopped = new AbortController()
        const stop = (): void => stopped.abort()
        const worker = new Worker({
          agent: prepared.agent,
          store: cluster.store,
          queue: cluster.queue,
          workspaces,
          ...given,
          session: prepared.options,
          clusterKey,
          onError: (error) => void write(io.stderr, `error: ${safeLine(String(error), 1_000)}\n`),
          onDrain: stop,
        })
        await worker.start()
        const node = { nodeId: worker.nodeId, workspaces: Object.keys(workspaces) }
        const text = `The worker is ready. Node: ${worker.nodeId}\n`
        await write(io.stdout, args.has('json') ? `${JSON.stringify(node)}\n` : text)
        await untilAborted(AbortSignal.any([io.signal, stopped.signal]))
        await write(io.stderr, 'Draining.\n')
        await worker.drain({ deadlineMs: drainMs })
        return exitCodes.done
      } finally {
        await cluster.close()
      }
    } finally {
      await prepared.close()
    }
  },
}

/** Throws for a quota in dollars with a model of unknown price: such a quota would never be used up. */
function checkPrice(quotas: TenantQuotas | undefined, { model, config }: Prepared): void {
  if (quotas === undefined || !hasCostQuota(quotas) || priceOf(model, config) !== undefined) return
  throw new UsageError(
    'A quota in dollars needs the price of the model, which is not known.',
    'Give the quota in tokens (--tenant-quota 200k), or declare the model with its cost in a configuration.',
  )
}

function workspacesOf(args: Args, io: Io): Readonly<Record<string, string>> {
  const given = args.values('workspace')
  const named = (given.length === 0 ? ['.'] : given).map((text): [string, string] => {
    const [, name, directory] = /^([\w.-]+)=(.+)$/s.exec(text) ?? []
    const path = workspaceRoot(directory ?? text, io.cwd)
    return [name ?? basename(path), path]
  })
  const twice = named.find(([name], at) => named.findIndex(([other]) => other === name) !== at)
  if (twice !== undefined)
    throw new UsageError(
      `Two workspaces have the name ${JSON.stringify(twice[0])}.`,
      'Name them: --workspace NAME=DIR',
    )
  return Object.fromEntries(named)
}

function tiersOf(args: Args): Record<string, number> {
  return Object.fromEntries(
    args.values('tier-limit').map((text): [string, number] => {
      const [, tier, limit] = /^([\w.-]+)=([1-9]\d{0,6})$/.exec(text) ?? []
      if (tier === undefined) throw new UsageError(`--tier-limit takes TIER=N, not ${JSON.stringify(text)}.`)
      return [tier, Number(limit)]
    }),
  )
}
