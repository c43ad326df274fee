import { Agent } from '../../agent/agent.js'
import type { AgentConfig } from '../../agent/config/index.js'
import { resolveModel } from '../../agent/config/index.js'
import { workspaceRoot } from '../../agent/workspace-root.js'
import { modeNames } from '../../authority/mode.js'
import { compilePolicy } from '../../authority/policy.js'
import type { ModelPrice } from '../../model/model.js'
import type { SessionOptions } from '../../session/options.js'
import { retentionCaps } from '../../session/retention.js'
import type { Session } from '../../session/session.js'
import type { SessionStore } from '../../store/session-store.js'
import type { Args } from '../args.js'
import type { Io } from '../io.js'
import { removeEmptySessions } from '../sessions/empty-session.js'
import { budgetGuard, readBudget } from './budget.js'
import { type ChosenModel, chooseModel, namedModel } from './choose-model.js'
import { type ChosenSession, chooseSession } from './choose-session.js'
import { readDuration } from './duration.js'
import { loadSettings } from './load-settings.js'
import { openStore } from './open-store.js'
import { userDirOf } from './user-dir.js'

/** Everything that a command needs to open a session, made of its flags, the configuration and the environment. */
export type Prepared = {
  readonly agent: Agent
  /** The real path. */
  readonly workspace: string
  readonly userDir: string
  readonly config: AgentConfig
  readonly model: ChosenModel
  readonly store: SessionStore | undefined
  /** What the flags come to, with model and store. */
  readonly options: SessionOptions
  /** What is odd about the configuration, a sentence each. */
  readonly warnings: readonly string[]
  /** The configuration of the workspace, when the user has not confirmed it: it has no effect. */
  readonly unconfirmed?: string
  /** What people should know and need not act on, a line each: why this model, what goes on with a session. */
  readonly notes: readonly string[]
  /** Opens a session as the flags say, with more options on top. */
  open(more?: SessionOptions): Promise<Session>
  close(): Promise<void>
}

/** Reads the flags of {@link import('./session-flags.js').sessionFlags}. Throws before anything is begun. */
export async function prepare(args: Args, io: Io): Promise<Prepared> {
  const options = optionsOf(args)
  const userDir = userDirOf(io)
  const workspace = workspaceRoot(args.value('directory') ?? '.', io.cwd)
  const settings = await loadSettings({ root: workspace, userDir }, io, args.value('config'))
  const { config } = settings
  const model = await chooseModel({ env: io.env, config, named: args.value('model') })
  const fallbackModels = args
    .values('fallback-model')
    .map((named) => namedModel(named, { env: io.env, config }).model)
  const maxRetries = args.count('retries', 0)
  const budget = args.value('budget')
  const guard =
    budget === undefined ? {} : { budgetGuard: budgetGuard(readBudget(budget), priceOf(model, config)) }
  const store = await openStore({ named: args.value('store'), config, userDir }, io)
  const kept = await chooseSession(args, store, workspace)
  const agent = await Agent.create(withoutStore(config), { env: io.env, cwd: io.cwd, userDir })
  const given: SessionOptions = {
    ...options,
    ...guard,
    model: model.model,
    ...(fallbackModels.length > 0 && { fallbackModels }),
    ...(maxRetries !== undefined && { retry: { ...config.retry, maxRetries } }),
    ...(store !== undefined && { sessionStore: store }),
    retentionLimits: retentionCaps,
  }
  /** The sessions that this command made. */
  const made: Session[] = []
  return {
    agent,
    workspace,
    userDir,
    config,
    model,
    store,
    options: given,
    warnings: settings.warnings,
    ...(settings.unconfirmed !== undefined && { unconfirmed: settings.unconfirmed }),
    notes: [model.says, kept?.note].filter((note) => note !== undefined),
    open: async (more = {}) => {
      const all = { ...given, ...(kept !== undefined && { sessionId: kept.id }), ...more }
      const name = args.value('agent')
      const isNew = await isNewSession(store, kept, all.sessionId)
      const session =
        name === undefined ? agent.session(workspace, all) : agent.sessionForAgent(workspace, name, [], all)
      if (isNew) made.push(session)
      return session
    },
    close: async () => {
      await agent.close()
      if (store !== undefined) await removeEmptySessions(store, made)
      await store?.close?.()
    },
  }
}

async function isNewSession(
  store: SessionStore | undefined,
  kept: ChosenSession | undefined,
  sessionId: string | undefined,
): Promise<boolean> {
  if (sessionId === undefined || store === undefined) return true
  if (sessionId === kept?.id) return kept.isNew === true
  return (await store.read(sessionId)) === undefined
}

/** All that is odd before anything is done: about the configuration, and about the session that was opened. */
export function warningsOf({ warnings }: Pick<Prepared, 'warnings'>, { initWarning }: Session): string[] {
  return [...warnings, ...(initWarning?.split('\n') ?? [])]
}

function optionsOf(args: Args): SessionOptions {
  const [allow, deny, ask] = [args.values('allow'), args.values('deny'), args.values('ask')]
  const policy = { allow, deny, ask }
  // What is wrong with a rule is said before anything else happens.
  compilePolicy(policy)
  const mode = modeNames.find((name) => name === args.value('mode'))
  const sandbox = (['auto', 'required', 'off'] as const).find((how) => how === args.value('sandbox'))
  const maxToolRounds = args.count('max-rounds')
  const timeout = args.value('timeout')
  const hosts = args.values('allow-host')
  return {
    ...(allow.length + deny.length + ask.length > 0 && { permissionPolicy: policy }),
    ...(mode !== undefined && { mode }),
    ...(sandbox !== undefined && { sandbox }),
    ...(hosts.length > 0 && { network: { allowHosts: hosts } }),
    ...(maxToolRounds !== undefined && { maxToolRounds }),
    ...(timeout !== undefined && { maxExecutionTimeMs: readDuration('timeout', timeout) }),
  }
}

/** The store is the command's to open and to close. */
function withoutStore({
  storageBackend: _b,
  storageUrl: _u,
  sessionsDir: _s,
  ...rest
}: AgentConfig): AgentConfig {
  return rest
}

function priceOf({ model }: ChosenModel, config: AgentConfig): ModelPrice | undefined {
  return typeof model === 'string' ? resolveModel(config, model).price : model.facts.price
}
