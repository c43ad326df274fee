import type { ModeName, RuntimeMode } from '../authority/mode.js'
import type { SessionAuthority } from '../loop/session-authority.js'
import type { SessionKernel } from './kernel.js'

/** The mode of a session before a tool switched it to `plan`. A mode that the host sets replaces it. */
const beforePlan = new WeakMap<SessionAuthority, ModeName | undefined>()

/** Sets the mode of a session: it applies from the next call, and is recorded and emitted. */
export async function changeMode(
  { log, emit }: SessionKernel,
  authority: SessionAuthority,
  mode: ModeName | undefined,
): Promise<void> {
  beforePlan.delete(authority)
  authority.setMode(mode)
  await log.recorder?.session({ mode: mode ?? null })
  emit({ type: 'agent_mode_changed', mode: mode ?? 'default' })
}

/**
 * Returns the mode service for tools. A tool can only enter `plan`, which removes permissions, and return to the mode
 * before it; the return must be approved, and the tool itself asks for that.
 */
export function modeServices(
  kernel: SessionKernel,
  authority: SessionAuthority,
  canAsk: boolean,
): RuntimeMode {
  return {
    name: () => authority.mode,
    canAsk: () => canAsk,
    async enterPlan() {
      if (authority.mode === 'plan') return
      const before = authority.mode
      await changeMode(kernel, authority, 'plan')
      beforePlan.set(authority, before)
    },
    async leavePlan() {
      if (authority.mode !== 'plan') return authority.mode
      const mode = beforePlan.get(authority)
      await changeMode(kernel, authority, mode)
      return mode
    },
  }
}
