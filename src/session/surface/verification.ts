import { DirectTools } from '../direct-tools.js'

/** What was checked, and how it went. */
export abstract class VerificationSurface extends DirectTools {}
