import { ConnectionSurface } from './connections.js'

/** The lanes that calls wait in, where a session has them. */
export abstract class QueueSurface extends ConnectionSurface {}
