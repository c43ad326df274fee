import { commandsFeature } from '../commands/feature.js'
import type { SessionFeature } from '../feature/session-feature.js'
import { goalsFeature } from '../goals/feature.js'
import { hooksFeature } from '../hooks/feature.js'
import { mcpFeature } from '../mcp/feature.js'
import { memoryFeature } from '../memory/feature.js'
import { objectsFeature } from '../objects/feature.js'
import { queueFeature } from '../queue/feature.js'
import { skillsFeature } from '../skills/feature.js'
import { subagentsFeature } from '../subagents/feature.js'
import { superviseFeature } from '../supervise/feature.js'
import { telemetryFeature } from '../telemetry/feature.js'
import { verifyFeature } from '../verify/feature.js'
import type { SessionOptions } from './options.js'
import type { SessionSetup } from './setup.js'

/** A feature as the kernel sees it. */
export type Feature = SessionFeature<unknown, SessionOptions, SessionSetup>

/**
 * All features of a session. The kernel calls each member in this order; docs/design/session.md has the reasons for the
 * order. A new feature is one folder and one line here.
 */
export const features: readonly Feature[] = [
  hooksFeature,
  superviseFeature,
  commandsFeature,
  memoryFeature,
  skillsFeature,
  subagentsFeature,
  mcpFeature,
  queueFeature,
  verifyFeature,
  goalsFeature,
  objectsFeature,
  telemetryFeature,
]
