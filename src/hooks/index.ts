/** Hooks: the host's own code at fixed points of a session. */
export type { HookAnswer, HookChange } from './answer.js'
export { HookError } from './errors.js'
export {
  type HookEvent,
  type HookEventName,
  type HookLabels,
  type HookPayloads,
  hookEventNames,
} from './events.js'
export type { HookConfig, HookHandler } from './hook.js'
export type { HookStatus } from './hooks.js'
export type { HookMatcher } from './matcher.js'
