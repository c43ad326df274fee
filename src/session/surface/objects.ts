import { VerificationSurface } from './verification.js'

/** Structured output. */
export abstract class ObjectSurface extends VerificationSurface {}
