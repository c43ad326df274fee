import type { ProgramMachine } from '../../program/index.js'
import type { SessionOptions } from '../../session/options.js'
import type { SessionStore } from '../../store/session-store.js'
import type { AgentConfig } from '../config/config.js'
import type { Environment } from '../config/reading.js'
import type { OpenedSession } from './schedule-session.js'

/** What an agent lends to those that serve a directory with it. */
export type ServingHost = {
  readonly config: AgentConfig
  readonly env: Environment
  /** The real path of the workspace. */
  readonly workspace: string
  readonly machine: ProgramMachine
  /** Aborted when the agent is closed. */
  readonly signal: AbortSignal
  /** Opens sessions with another configuration than the agent's own. */
  opener(setup: OpenerSetup): SessionOpener
}

export type OpenerSetup = {
  readonly config: AgentConfig
  /** Where sessions are kept that bring no store; absent: where those of the agent are. */
  readonly store?: SessionStore
  readonly agentId: string
  /** Values that nobody outside may see. */
  readonly secrets: readonly string[]
}

/** Opens a session, or goes on with one that is kept under its id: with what was said, and not with options of another time. */
export type SessionOpener = (
  options: SessionOptions & { readonly sessionId: string },
) => Promise<OpenedSession>
