/**
 * A stream of Node.js, such as `process.stdin`, described by its shape, so that neither declarations nor users of the
 * package need the types of Node.js.
 */
export type StreamLike = { on(event: string, listener: (...values: never[]) => void): unknown }
