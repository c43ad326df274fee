import type { AgentDirHandle } from '../agent/dir/index.js'
import type { ClusterKey } from '../cluster/signed-answer.js'
import type { RunQueue } from '../run-queue/run-queue.js'
import type { SessionOptions } from '../session/options.js'
import type { Session } from '../session/session.js'
import type { SessionStore } from '../store/session-store.js'

/** The sender of a request. Sessions of one tenant are invisible to another. */
export type Principal = {
  readonly id: string
  readonly tenantId?: string | undefined
  /** True: the sessions of every tenant are visible. For operators of the whole store. */
  readonly allTenants?: boolean | undefined
  readonly labels?: Readonly<Record<string, string>> | undefined
  /** The id of the only session that the principal can read. It can change nothing. */
  readonly readsOnly?: string | undefined
}

/** A token that the server accepts, and its principal. */
export type ServerToken = { readonly token: string } & Partial<Principal>

/** The facts about a session that `authorize` gets. */
export type SessionFacts = {
  readonly sessionId: string
  readonly workspace: string
  readonly tenantId?: string | undefined
  readonly principal?: string | undefined
}

/** The options of {@link createServer}. */
export type ServerOptions = {
  /** A token, or several with their principals. Required unless `authenticate` is given. */
  readonly token?: string | readonly ServerToken[] | undefined
  /** Returns the sender of a request; undefined rejects it with 401. Replaces tokens. */
  readonly authenticate?:
    | ((request: Request) => Principal | undefined | Promise<Principal | undefined>)
    | undefined
  /** Returns whether the principal is allowed to do this; `action` is the `operationId` of the route in OpenAPI. */
  readonly authorize?:
    | ((
        principal: Principal,
        action: string,
        session: SessionFacts | undefined,
      ) => boolean | Promise<boolean>)
    | undefined
  /** The directories that sessions can work in. Default: the current one. The first is the default workspace. */
  readonly workspaces?: readonly string[] | undefined
  /** The session store. Default: that of the agent's configuration, otherwise the memory of this process. */
  readonly store?: SessionStore | undefined
  /**
   * Runs are added to this queue, and workers of the cluster execute them; this process executes none. `store` must be
   * that of the workers.
   */
  readonly queue?: RunQueue | undefined
  /** The key of the workers, which signs answers to approvals of queued runs. */
  readonly clusterKey?: ClusterKey | undefined
  /** Options of every session. Clients can set only those of `clientOptions`. */
  readonly session?: SessionOptions | undefined
  /** Names of session options that clients can set in addition to the harmless ones. */
  readonly clientOptions?: readonly (keyof SessionOptions & string)[] | undefined
  /** Names of tools that clients can call directly, without rules and approvals. Default: none. */
  readonly hostTools?: readonly string[] | undefined
  /**
   * True: serves the inspector's page under `/inspect/`, and accepts the cookies of browsers that signed in there
   * with a code of `POST /v1/inspector/codes`.
   */
  readonly inspector?: boolean | undefined
  /** Host names that the server answers for, besides those of loopback. With or without a port. */
  readonly allowedHosts?: readonly string[] | undefined
  /** Origins of web pages that can call the server, besides its own. They get CORS headers. */
  readonly allowedOrigins?: readonly string[] | undefined
  readonly limits?: Partial<ServerLimits> | undefined
  /** Answers `POST /v1/hooks/NAME` (signed, no token). Give it the `webhook` of a served agent directory. */
  readonly webhooks?: ((request: Request) => Promise<Response>) | undefined
  /** The agent directories that this process serves: `GET /v1/schedules` lists their schedules. */
  readonly agentDirs?: readonly Pick<AgentDirHandle, 'schedules'>[] | undefined
  /**
   * Sessions that the host has open itself. Clients watch them and answer their approvals and questions, next to the
   * host; the server never closes them.
   */
  readonly hostSessions?: (() => readonly Session[]) | undefined
  /** How long a call waits for an approval, in milliseconds. Default: 24 hours. */
  readonly approvalTimeoutMs?: number | undefined
  /** `false`: an interrupted run is resumed only by `POST …/resume`, not by its readers. */
  readonly resumeRuns?: boolean | undefined
  /** Called with errors inside the server. Clients see only the code `internal_error`. */
  readonly onError?: ((error: unknown) => void) | undefined
}

/** The limits of a server; the defaults are in `defaultLimits`. */
export type ServerLimits = {
  readonly maxBodyBytes: number
  /** The maximum number of requests of one principal per minute. */
  readonly maxRequestsPerMinute: number
  /** The maximum number of open streams of one principal. */
  readonly maxStreams: number
  /** The maximum number of active and queued runs of one principal. */
  readonly maxRuns: number
  /** Open sessions without a run, a reader or a request for this long are closed; they are opened again on use. */
  readonly idleMs: number
  readonly heartbeatMs: number
  readonly maxAttachments: number
}

export const defaultLimits: ServerLimits = {
  maxBodyBytes: 16 * 1024 * 1024,
  maxRequestsPerMinute: 6_000,
  maxStreams: 1_000,
  maxRuns: 256,
  idleMs: 5 * 60_000,
  heartbeatMs: 15_000,
  maxAttachments: 20,
}
