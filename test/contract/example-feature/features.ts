import { features as builtIn, type Feature } from '../../../src/session/features.js'
import { termsFeature } from './feature.js'

/** What `src/session/features.ts` exports with one more line. */
export const features: readonly Feature[] = [...builtIn, termsFeature as Feature]
