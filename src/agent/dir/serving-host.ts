import type { ProgramMachine } from '../../program/index.js'
import type { SessionOptions } from '../../session/options.js'
import type { SessionStore } from '../../store/session-store.js'
import type { AgentConfig } from '../config/config.js'
import type { Environment } from '../config/reading.js'
import type { OpenedSession } from './schedule-session.js'

/** What an agent provides for serving a directory. */
export type ServingHost = {
  readonly config: AgentConfig
  readonly env: Environment
  /** The real path of the workspace. */
  readonly workspace: string
  readonly machine: ProgramMachine
  /** The store of sessions that have no store of their own. */
  readonly store: SessionStore | undefined
  /** Aborted when the agent is closed. */
  readonly signal: AbortSignal
  /** Opens sessions with another configuration than that of the agent. */
  opener(setup: OpenerSetup): SessionOpener
}

export type OpenerSetup = {
  readonly config: AgentConfig
  /** The store of sessions that have no store of their own (default: the store of the agent). */
  readonly store?: SessionStore
  readonly agentId: string
  /** Secrets, which are redacted. */
  readonly secrets: readonly string[]
}

/** Opens a session, or resumes the stored one with its id: the messages are restored, the options are not. */
export type SessionOpener = (
  options: SessionOptions & { readonly sessionId: string },
) => Promise<OpenedSession>
