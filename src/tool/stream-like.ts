/**
 * One stream of Node's, such as `process.stdin`, said by its shape: whoever names one in a declaration needs no types of Node's for it,
 * and whoever imports the package neither.
 */
export type StreamLike = { on(event: string, listener: (...values: never[]) => void): unknown }
