import type { SessionFeature } from '../feature/session-feature.js'
import type { RuntimeObjects } from '../model/object/object-request.js'
import { generateFor } from './generate.js'

/** Gives tools such as `generate_object` access to the session's model, to generate data. */
export const objectsFeature: SessionFeature<RuntimeObjects> = {
  name: 'objects',
  create: (session) => ({ generate: (request, options) => generateFor(session, request, options) }),
  offers: {
    objects: (session) => ({ generate: (request, options) => generateFor(session, request, options) }),
  },
  services: { objects: (session) => session.use(objectsFeature) },
}
