import { omitUndefined } from '../../tool/omit-undefined.js'
import { stricterLimits } from '../../workspace/limits/resource-limits.js'
import type { SandboxMode } from '../../workspace/sandbox/choose.js'
import type { AgentConfig } from './config.js'

/**
 * How commands are confined, when a file that came with a workspace or an agent says something too: it can only make it
 * stricter. Where the host says nothing, the defaults are the host's.
 */
export function stricterConfinement(
  host: Pick<AgentConfig, 'sandbox' | 'commandLimits'>,
  own: Pick<AgentConfig, 'sandbox' | 'commandLimits'>,
): Partial<Pick<AgentConfig, 'sandbox' | 'commandLimits'>> {
  const { sandbox, commandLimits } = own
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
  })
}

function isStricter(host: SandboxMode, own: SandboxMode): boolean {
  const strictness = (mode: SandboxMode): number =>
    mode === 'off' ? 0 : mode === 'auto' ? 1 : mode === 'required' ? 2 : 3
  return strictness(own) > strictness(host)
}
