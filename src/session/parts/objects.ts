import type { RuntimeObjects } from '../../tool/runtime.js'
import { generateFor } from '../objects.js'
import type { SessionPart } from '../part.js'

/** The session's model, lent to tools that want data from it. */
export const objectPart: SessionPart<RuntimeObjects> = {
  name: 'objects',
  make: (core) => ({ generate: (request, options) => generateFor(core, request, options) }),
}
