import { omitUndefined } from '../../tool/omit-undefined.js'
import { stricterLimits } from '../../workspace/limits/resource-limits.js'
import type { SandboxMode } from '../../workspace/sandbox/choose.js'
import type { AgentConfig } from './config.js'
import { stricterNetwork } from './stricter-network.js'

/**
 * Merges how commands are confined with the settings of a file that came with a workspace or an agent. The file can
 * only make confinement stricter. Where the host has no setting, its default applies.
 */
export function stricterConfinement(
  host: Pick<AgentConfig, Confining>,
  own: Pick<AgentConfig, Confining>,
): Pick<AgentConfig, Confining> {
  const { sandbox, commandLimits, network } = own
  return omitUndefined({
    // Set explicitly even if it equals the default, so that the weaker setting of the file does not apply.
    sandbox:
      sandbox === undefined || isStricter(host.sandbox ?? 'auto', sandbox)
        ? (sandbox ?? host.sandbox)
        : (host.sandbox ?? 'auto'),
    commandLimits:
      commandLimits === undefined
        ? host.commandLimits
        : (stricterLimits(host.commandLimits, commandLimits) as AgentConfig['commandLimits']),
    // Set explicitly even if the host has no network settings, for the same reason.
    network: network === undefined ? host.network : (stricterNetwork(host.network, network) ?? {}),
  })
}

type Confining = 'sandbox' | 'commandLimits' | 'network'

function isStricter(host: SandboxMode, own: SandboxMode): boolean {
  const strictness = (mode: SandboxMode): number =>
    mode === 'off' ? 0 : mode === 'auto' ? 1 : mode === 'required' ? 2 : 3
  return strictness(own) > strictness(host)
}
