import { commandsFeature } from '../commands/feature.js'
import type { SessionFeature } from '../feature/session-feature.js'
import { hooksFeature } from '../hooks/feature.js'
import { mcpFeature } from '../mcp/feature.js'
import { memoryFeature } from '../memory/feature.js'
import { objectsFeature } from '../objects/feature.js'
import { queueFeature } from '../queue/feature.js'
import { skillsFeature } from '../skills/feature.js'
import { subagentsFeature } from '../subagents/feature.js'
import { superviseFeature } from '../supervise/feature.js'
import { verifyFeature } from '../verify/feature.js'
import type { SessionOptions } from './options.js'
import type { SessionSetup } from './setup.js'

/** A feature as the kernel sees it. */
export type Feature = SessionFeature<unknown, SessionOptions, SessionSetup>

/**
 * Everything that plugs into a session. The kernel calls each member in this order; the reasons for it are in docs/design/session.md. A
 * new feature is one folder and one line here.
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
  objectsFeature,
]

/** The features that have this member, in order. Found once: the loop and the gate ask for it often. */
export function featuresWith<Name extends keyof Feature>(
  name: Name,
): readonly (Feature & { readonly [Key in Name]-?: NonNullable<Feature[Key]> })[] {
  type Having = Feature & { readonly [Key in Name]-?: NonNullable<Feature[Key]> }
  const known = found.get(name)
  if (known !== undefined) return known as readonly Having[]
  const having = features.filter((feature): feature is Having => feature[name] !== undefined)
  found.set(name, having)
  return having
}

const found = new Map<keyof Feature, readonly Feature[]>()
