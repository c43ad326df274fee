/** Hooks: the host's own code at the turning points of a session. */
export type { HookAnswer, HookChange } from './answer.js'
export { HookError } from './errors.js'
export {
  type HookEvent,
  type HookEventName,
  type HookLabels,
  type HookPayloads,
  hookEventNames,
} from './events.js'
export { gateHooks, hookedAsk } from './gate-hooks.js'
export type { HookConfig, HookHandler } from './hook.js'
export {
  createHooks,
  type HookNotice,
  type HookOutcome,
  type HookSession,
  type HookStatus,
  type Hooks,
  type HooksOptions,
} from './hooks.js'
export type { HookMatcher } from './matcher.js'
