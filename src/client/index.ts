export {
  CapstanClient,
  type ClientOptions,
  createClient,
  type PlacedEvent,
  ProblemError,
  RemoteRun,
  RemoteSession,
  type RunOptions,
} from './client.js'
export { type Operations, operations } from './operations.js'
