import { RecallSurface } from './recall.js'

/** Servers that bring further tools. */
export abstract class ConnectionSurface extends RecallSurface {}
