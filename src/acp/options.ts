import type { Readable, Writable } from 'node:stream'
import type { Agent } from '../agent/agent.js'
import type { Model } from '../model/model.js'
import type { SessionOptions } from '../session/options.js'
import type { Session } from '../session/session.js'
import type { SessionInfo, SessionStore } from '../store/session-store.js'

/** A directory that sessions work in, with its agent, configuration and models. */
export type Place = {
  readonly agent: Agent
  /** The real path of the directory. */
  readonly workspace: string
  readonly store: SessionStore
  /** The model of new sessions, as `provider/model`. */
  readonly modelName: string
  /** False when no language model is configured, and only the offline model could answer. */
  readonly hasModel: boolean
  /** The models that a session can change to, as `provider/model`. */
  readonly models: readonly string[]
  resolveModel(name: string): string | Model
  /** Opens a session with the options of the command line; those given take precedence. */
  open(options: SessionOptions): Session
}

export type AcpOptions = {
  readonly input: Readable
  readonly output: Writable
  /** The version of the package, for `initialize`. */
  readonly version: string
  /** Prepares a directory. Called once for each, and again if it failed. */
  place(cwd: string): Promise<Place>
  /** The directory of the process. */
  readonly cwd: string
  /** Yields the sessions of a store that have messages and match, newest first. */
  sessions(store: SessionStore, isWanted: (info: SessionInfo) => boolean): AsyncIterable<SessionInfo>
  /** Writes a message to the log of the client: standard error. */
  report(message: string): void
  /**
   * Answers the methods `_capstan/…`, which give the client the permissions of a host: it chooses rules, and its
   * direct calls are privileged. Absent: these methods do not exist.
   */
  readonly host?:
    | { readonly cwd: string; readonly env: Readonly<Record<string, string | undefined>> }
    | undefined
  now(): number
}
