import type { ModeName, RuntimeMode } from '../authority/mode.js'
import type { SessionAuthority } from '../loop/session-authority.js'
import type { SessionKernel } from './kernel.js'

/** The mode that a session had when a tool put it into `plan`. A mode that the host sets takes its place. */
const beforePlan = new WeakMap<SessionAuthority, ModeName | undefined>()

/** Sets the mode of a session: it applies from the next call on, and is recorded and emitted. */
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
 * The mode as tools see it. A tool can only enter `plan`, which takes permissions away, and go back to what was before;
 * that it goes back must have been approved, which the tool itself asks for.
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
