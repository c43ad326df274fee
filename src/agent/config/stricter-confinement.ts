import { omitUndefined } from '../../tool/omit-undefined.js'
import { stricterLimits } from '../../workspace/limits/resource-limits.js'
import type { SandboxMode } from '../../workspace/sandbox/choose.js'
import type { AgentConfig } from './config.js'
import { stricterNetwork } from './stricter-network.js'

/**
 * How commands are confined, when a file that came with a workspace or an agent says something too: it can only make it
 * stricter. Where the host says nothing, the defaults are the host's.
 */
export function stricterConfinement(
  host: Pick<AgentConfig, Confining>,
  own: Pick<AgentConfig, Confining>,
): Pick<AgentConfig, Confining> {
  const { sandbox, commandLimits, network } = own
  return omitUndefined({
    // Stated even if it is the default: what the file says must not come through.
    sandbox:
      sandbox === undefined || isStricter(host.sandbox ?? 'auto', sandbox)
        ? (sandbox ?? host.sandbox)
        : (host.sandbox ?? 'auto'),
    commandLimits:
      commandLimits === undefined
        ? host.commandLimits
        : (stricterLimits(host.commandLimits, commandLimits) as AgentConfig['commandLimits']),
    // Stated even if the host has none, for the same reason.
    network: network === undefined ? host.network : (stricterNetwork(host.network, network) ?? {}),
  })
}

type Confining = 'sandbox' | 'commandLimits' | 'network'

function isStricter(host: SandboxMode, own: SandboxMode): boolean {
  const strictness = (mode: SandboxMode): number =>
    mode === 'off' ? 0 : mode === 'auto' ? 1 : mode === 'required' ? 2 : 3
  return strictness(own) > strictness(host)
}
