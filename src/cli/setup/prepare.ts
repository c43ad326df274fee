import { Agent } from '../../agent/agent.js'
import type { AgentConfig } from '../../agent/config/index.js'
import { resolveModel } from '../../agent/config/index.js'
import { modeNames } from '../../authority/mode.js'
import { compilePolicy } from '../../authority/policy.js'
import type { ModelPrice } from '../../model/model.js'
import { createModel } from '../../model/provider.js'
import type { SessionOptions } from '../../session/options.js'
import { retentionCaps } from '../../session/retention.js'
import type { Session } from '../../session/session.js'
import type { SessionStore } from '../../store/session-store.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import { sandboxBackends } from '../../workspace/sandbox/backends.js'
import type { Args } from '../args.js'
import type { Io } from '../io.js'
import { removeEmptySessions } from '../sessions/empty-session.js'
import { budgetGuard, readBudget } from './budget.js'
import { type ChosenModel, chooseModel, namedModel } from './choose-model.js'
import { type ChosenSession, chooseSession } from './choose-session.js'
import { readLimits } from './command-limits.js'
import { readNetwork } from './command-network.js'
import { settingsOf } from './load-settings.js'
import { openStore } from './open-store.js'

/** Everything that a command needs to open a session: from its options, the configuration and the environment. */
export type Prepared = {
  readonly agent: Agent
  /** The real path of the workspace. */
  readonly workspace: string
  readonly userDir: string
  readonly config: AgentConfig
  readonly model: ChosenModel
  readonly store: SessionStore | undefined
  /** The session options from the command line, with model and store. */
  readonly options: SessionOptions
  /** Warnings about the configuration. */
  readonly warnings: readonly string[]
  /** The path of the workspace's configuration if the user has not confirmed it. It has no effect. */
  readonly unconfirmed?: string | undefined
  /** Notes for the user: why this model is used, what a session resumes with. */
  readonly notes: readonly string[]
  /** Opens a session with the options of the command line; `more` takes precedence. */
  open(more?: SessionOptions): Promise<Session>
  close(): Promise<void>
}

/** Reads the options of {@link import('./session-flags.js').sessionFlags}. Throws before anything is started. */
export async function prepare(args: Args, io: Io): Promise<Prepared> {
  const stated = optionsOf(args)
  const { root: workspace, userDir, ...settings } = await settingsOf(args, io)
  const config = args.has('otel')
    ? { ...settings.config, telemetry: settings.config.telemetry ?? {} }
    : settings.config
  const model = await chooseModel({ env: io.env, config, named: args.value('model') })
  const fallbackModels = args
    .values('fallback-model')
    .map((named) => namedModel(named, { env: io.env, config }).model)
  const maxRetries = args.count('retries', 0)
  const budget = args.value('budget')
  const guard = budget === undefined ? undefined : budgetGuard(readBudget(budget), priceOf(model, config))
  const store = await openStore({ named: args.value('store'), config, userDir }, io)
  const chosen = await chooseSession(args, store, workspace)
  const agent = await Agent.create(withoutStore(config), { env: io.env, cwd: io.cwd, userDir })
  const given: SessionOptions = omitUndefined({
    ...stated,
    network: readNetwork(args, config, io),
    budgetGuard: guard,
    model: model.model,
    fallbackModels: fallbackModels.length > 0 ? fallbackModels : undefined,
    retry: maxRetries === undefined ? undefined : { ...config.retry, maxRetries },
    sessionStore: store,
    retentionLimits: retentionCaps,
  })
  /** The sessions that this command created. */
  const created: Session[] = []
  return {
    agent,
    workspace,
    userDir,
    config,
    model,
    store,
    options: given,
    warnings: settings.warnings,
    unconfirmed: settings.unconfirmed,
    notes: [model.note, chosen?.note].filter((note) => note !== undefined),
    open: async (more = {}) => {
      const all: SessionOptions = { ...given, ...omitUndefined({ sessionId: chosen?.id }), ...more }
      const name = args.value('agent')
      const isNew = await isNewSession(store, chosen, all.sessionId)
      const session =
        name === undefined ? agent.session(workspace, all) : agent.sessionForAgent(workspace, name, [], all)
      if (isNew) created.push(session)
      return session
    },
    close: async () => {
      await agent.close()
      if (store !== undefined) await removeEmptySessions(store, created)
      await store?.close?.()
    },
  }
}

async function isNewSession(
  store: SessionStore | undefined,
  chosen: ChosenSession | undefined,
  sessionId: string | undefined,
): Promise<boolean> {
  if (sessionId === undefined || store === undefined) return true
  if (sessionId === chosen?.id) return chosen.isNew === true
  return (await store.read(sessionId)) === undefined
}

/** The warnings about the configuration and about the options of an opened session. */
export function warningsOf({ warnings }: Pick<Prepared, 'warnings'>, { initWarning }: Session): string[] {
  return [...warnings, ...(initWarning?.split('\n') ?? [])]
}

function optionsOf(args: Args): SessionOptions {
  const [allow, deny, ask] = [args.values('allow'), args.values('deny'), args.values('ask')]
  const policy = { allow, deny, ask }
  // An invalid rule is reported before anything else happens.
  compilePolicy(policy)
  return omitUndefined({
    permissionPolicy: allow.length + deny.length + ask.length > 0 ? policy : undefined,
    mode: modeNames.find((name) => name === args.value('mode')),
    sandbox: (['auto', 'required', 'off', ...sandboxBackends] as const).find(
      (how) => how === args.value('sandbox'),
    ),
    commandLimits: readLimits(args.values('limit')),
    maxToolRounds: args.count('max-rounds'),
    maxExecutionTimeMs: args.duration('timeout'),
  })
}

/** Removes the store, because the command opens and closes it itself. */
function withoutStore({
  storageBackend: _b,
  storageUrl: _u,
  sessionsDir: _s,
  ...rest
}: AgentConfig): AgentConfig {
  return rest
}

/** Returns the price of the chosen model, if it is known. */
export function priceOf({ model }: ChosenModel, config: AgentConfig): ModelPrice | undefined {
  const chosen = typeof model === 'string' ? createModel(resolveModel(config, model)) : model
  return chosen.facts.price
}
