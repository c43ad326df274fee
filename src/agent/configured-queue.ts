import { type QueueConfig, readQueueConfig } from '../queue/config.js'
import type { QueueConfig as ConfiguredQueue } from './config/index.js'

/** The lanes of the configuration, as a session takes them. Throws for words that mean nothing there. */
export function configuredQueue(given: ConfiguredQueue | undefined): { readonly queueConfig?: QueueConfig } {
  if (given === undefined) return {}
  readQueueConfig(given)
  // Its names are among those that are read, which has just been done.
  return { queueConfig: given as QueueConfig }
}
