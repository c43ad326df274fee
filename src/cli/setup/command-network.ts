import { resolve } from 'node:path'
import type { AgentConfig } from '../../agent/config/index.js'
import { hostSecret, sessionNetwork } from '../../agent/config/session-network.js'
import { messageOf } from '../../tool/errors.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import { bindSecrets } from '../../workspace/egress/host-secrets.js'
import type { HostSecret } from '../../workspace/egress/network-options.js'
import type { NetworkOptions } from '../../workspace/open-workspace.js'
import type { Args } from '../args.js'
import { UsageError } from '../errors.js'
import type { Io } from '../io.js'

/**
 * Reads the network of commands from the options: `--allow-host`, `--read-only-host`, `--git-fetch` and `--host-secret`
 * add to the configuration. Undefined if none of these options is given.
 */
export function readNetwork(
  args: Args,
  { network }: Pick<AgentConfig, 'network'>,
  io: Pick<Io, 'env' | 'cwd'>,
): NetworkOptions | undefined {
  const hosts = args.values('allow-host')
  const readOnly = args.values('read-only-host')
  const secrets = args.values('host-secret').map((text) => usable(readSecret(text, io)))
  const gitFetch = args.has('git-fetch')
  if (hosts.length + readOnly.length + secrets.length === 0 && !gitFetch) return undefined
  const configured = sessionNetwork(network) ?? {}
  const named = Array.isArray(configured.readOnly) ? configured.readOnly : []
  const all = [...named, ...readOnly]
  return omitUndefined({
    ...configured,
    allowHosts: [...(configured.allowHosts ?? []), ...hosts],
    readOnly: configured.readOnly === true || readOnly.includes('*') || (all.length > 0 ? all : undefined),
    gitFetch: gitFetch ? true : configured.gitFetch,
    secrets: [...(configured.secrets ?? []), ...secrets],
  })
}

/** Rejects an invalid host or header before anything is started. */
function usable(secret: HostSecret): HostSecret {
  try {
    bindSecrets([secret])
  } catch (error) {
    throw new UsageError(`--host-secret: ${messageOf(error)}`)
  }
  return secret
}

/**
 * Parses a value of `--host-secret`: `HOST=env:NAME`, `HOST=file:PATH`, or `HOST/HEADER=…` for a header other than a
 * bearer token. The secret itself is never an argument, because other users of the machine can see arguments.
 */
function readSecret(text: string, { env, cwd }: Pick<Io, 'env' | 'cwd'>): HostSecret {
  const [, host = '', header, kind, source = ''] =
    /^([^=/]+)(?:\/([^=/]+))?=(env|file):(.+)$/s.exec(text) ?? []
  // The text is not shown, because it can be the secret.
  if (kind === undefined)
    throw new UsageError(
      '--host-secret takes HOST=env:NAME or HOST=file:PATH, with HOST/HEADER for another header than authorization. The secret itself cannot be an argument.',
    )
  if (kind === 'file') return hostSecret(omitUndefined({ host, header, file: resolve(cwd, source) }))
  const value = env[source]
  if (value === undefined || value === '')
    throw new UsageError(
      `--host-secret names the environment variable ${JSON.stringify(source)}, which is not set.`,
    )
  return hostSecret(omitUndefined({ host, header, value }))
}
