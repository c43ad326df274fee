export * from './client.js'
export { type Operations, operations } from './operations.js'
