import { homedir } from 'node:os'
import type { RuntimeMode } from '../authority/mode.js'
import type { Scope } from '../authority/scope.js'
import { combineWatchdogs, defaultWatchdog, hostWatchdog } from '../authority/watchdog.js'
import type { Engine } from '../feature/feature-context.js'
import { SingleFlight } from '../feature/single-flight.js'
import type { AskHandler } from '../loop/ask.js'
import { permitFor } from '../loop/call-permit.js'
import { createGate, type Gate } from '../loop/gate.js'
import type { GateParts, HookVerdict, RuntimeRequest } from '../loop/gate-parts.js'
import { createSessionAuthority, type SessionAuthority } from '../loop/session-authority.js'
import { WriteOrder } from '../loop/write-order.js'
import type { AnyTool, RunIdentity } from '../tool/contract.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import type { RuntimeNet, ToolRuntime } from '../tool/runtime.js'
import type { RuntimeSession } from '../tool/session-services.js'
import { backendAddress } from '../workspace/backend/backend.js'
import { hiddenTexts } from '../workspace/egress/network-options.js'
import type { NetworkRequest } from '../workspace/egress/network-request.js'
import { openWorkspace, type Workspace } from '../workspace/open-workspace.js'
import {
  type LoadedRules,
  openRuleFiles,
  type RuleFiles,
  type RuleFilesOptions,
} from '../workspace/rules/rule-files.js'
import { modeServices } from './change-mode.js'
import { watchClosedPaths } from './closed-store.js'
import { featuresWith } from './features-with.js'
import { type ChangeOwner, hostCalls } from './history/file-changes.js'
import { type SeenFiles, type SeenUse, trackSeenFiles } from './history/seen-files.js'
import { watchFiles } from './history/watched-files.js'
import { hostTools } from './host-tools.js'
import { restoredRules } from './journal/restore.js'
import type { SessionKernel } from './kernel.js'
import { limitConcurrency } from './limit-concurrency.js'
import { sessionServices } from './services.js'
import { backendOf } from './setup.js'

/** Opens the session's access to files, processes and the network: the workspace, the rules and the gate. */
export function startEngine(kernel: SessionKernel): Promise<Engine> {
  const { projectRoot: root, userDir, options } = kernel
  // Before the concurrency limit, so that all sessions that start at this moment share one read of the rules. With
  // additional roots, their real paths must be resolved first.
  const isPlain =
    kernel.engine.rules === undefined && options.roots === undefined && copiedBy(kernel).length === 0
  const rules = isPlain && root !== undefined ? rulesAt({ root, userDir }, scopeAt(root)) : undefined
  return limitConcurrency(() => openEngine(kernel, rules))
}

async function openEngine(
  kernel: SessionKernel,
  early: ReturnType<typeof rulesAt> | undefined,
): Promise<Engine> {
  const { options, root, userDir } = kernel
  const workspace = await openWorkspaceOf(kernel)
  const { projectRoot } = kernel
  const backend = backendOf(kernel.setup)
  const place =
    backend !== undefined && projectRoot === undefined
      ? { root: backendAddress(backend), userDir, isRemote: true }
      : { root: workspace.root, userDir }
  const expected = keyOf({ root, userDir }, scopeAt(root)) === keyOf(place, workspace.scope)
  const isFirst = kernel.engine.rules === undefined
  // The rules of a session are those from its start, however often its engine is opened.
  kernel.engine.rules ??= await (expected && early ? early : rulesAt(place, workspace.scope))
  const { ruleFiles, loaded } = kernel.engine.rules
  const authority = createSessionAuthority({
    scope: () => workspace.scope,
    tools: () => kernel.tools.all(),
    projectRules: loaded.rules,
    sessionRules: restoredRules(kernel.restored, options),
    policy: options.permissionPolicy,
    manifest: options.manifest,
    ceiling: options.ceiling,
    mode: options.mode,
    parent: kernel.parent?.authority,
    delegateApprovals: options.delegation?.approvals === true,
  })
  if (isFirst) reportRules(kernel, kernel.engine.rules, authority)
  const gate = gateFor(kernel, workspace, authority, ruleFiles)
  return { workspace, authority, gate }
}

function reportRules(
  kernel: SessionKernel,
  { ruleFiles, loaded: { workspace: unread } }: FoundRules,
  { warnings }: SessionAuthority,
): void {
  if (unread !== undefined && unread.confirmed === false)
    kernel.emit({
      type: 'notice',
      source: 'rules',
      message: `${ruleFiles.workspaceFile} came with the workspace and is not confirmed. Its rules can only deny and ask, not allow.`,
      code: 'rules_unconfirmed',
    })
  for (const message of warnings) kernel.emit({ type: 'notice', source: 'permissionPolicy', message })
}

async function openWorkspaceOf(kernel: SessionKernel): Promise<Workspace> {
  const { options, root } = kernel
  const backend = backendOf(kernel.setup)
  const common = {
    onNotice: (message: string) => kernel.emit({ type: 'notice', source: 'workspace', message }),
    sandbox: options.sandbox,
    limits: options.commandLimits,
    network: await noted(kernel),
    env: options.env,
    closed: [...(options.sessionStore?.paths ?? []), ...secretFiles(options)],
  }
  if (backend !== undefined) {
    const { openBackendWorkspace } = await import('../workspace/backend/open-backend.js')
    return openBackendWorkspace(backend, common)
  }
  return openWorkspace({
    ...common,
    root,
    roots: options.roots,
    places: () => kernel.engine.places.current(),
    copyOf: copiedBy(kernel),
  })
}

/** Returns the network rules. A secret from a file or a function is redacted from the moment it is read. */
async function noted({
  options: { network },
  redactor,
}: SessionKernel): Promise<SessionKernel['options']['network']> {
  if (network?.secrets === undefined) return network
  const { notedSecrets } = await import('../workspace/egress/host-secrets.js')
  return { ...network, secrets: notedSecrets(network.secrets, (value) => redactor.hide(hiddenTexts(value))) }
}

/** Returns the files with secrets that the sandbox proxy adds to requests. */
function secretFiles({ network }: SessionKernel['options']): string[] {
  return (network?.secrets ?? []).flatMap(({ file }) => file ?? [])
}

/**
 * Returns the parents' workspaces that the session works on a copy of: their rules apply to the same paths in the copy.
 */
function copiedBy({ parent }: SessionKernel): readonly string[] {
  if (parent === undefined) return []
  const above = copiedBy(parent.session)
  return parent.isolated ? [parent.session.root, ...above] : above
}

/** The project's rules and the files that they come from. */
export type FoundRules = { readonly ruleFiles: RuleFiles; readonly loaded: LoadedRules }

function rulesAt(place: RuleFilesOptions, scope: Scope): Promise<FoundRules> {
  const found = rulesFound.ask(keyOf(place, scope), async () => {
    const ruleFiles = await openRuleFiles(place)
    return { ruleFiles, loaded: await ruleFiles.load(scope) }
  })
  // The caller that awaits it later gets the error.
  found.catch(() => undefined)
  return found
}

const rulesFound = new SingleFlight<FoundRules>()

function keyOf(place: RuleFilesOptions, scope: Scope): string {
  return JSON.stringify([place.root, place.userDir, place.isRemote, scope])
}

/** The expected scope of a session with only its root; the opened workspace decides. */
function scopeAt(root: string): Scope {
  return { variables: { workspace: [root] }, home: homedir() }
}

function gateFor(
  kernel: SessionKernel,
  workspace: Workspace,
  authority: SessionAuthority,
  ruleFiles: RuleFiles,
): Gate {
  const { options, tools } = kernel
  const { recorder } = kernel.log
  const features = gateFeatures(kernel)
  const { seen } = kernel.engine
  const asks = options.onAsk !== undefined || options.confirmationPolicy?.enabled === true
  const mode = modeServices(kernel, authority, asks)
  const gate = createGate({
    tools: {
      get: (name, origin) => {
        if (origin === 'host') return tools.get(name) ?? hostTools.get(name) ?? resolveTool(kernel, name)
        return tools.called(name) ?? resolveTool(kernel, name)
      },
      names: () => tools.names(),
    },
    authorityFor: (tool) => (kernel.tools.isHostTool(tool) ? authority.forHost(tool) : authority.for(tool)),
    realPath: workspace.realPath,
    followLinks: workspace.followLinks,
    findBelow: workspace.findBelow,
    fileDigest: (path) =>
      workspace.files.read(path).then(
        ({ version }) => version,
        () => undefined,
      ),
    manifest: options.manifest,
    watchdog: combineWatchdogs(
      defaultWatchdog,
      ...(options.watchdog === undefined ? [] : [hostWatchdog(options.watchdog)]),
      ...kernel.redactor.watchdogs,
      ...(workspace.closed.length === 0 ? [] : [watchClosedPaths(workspace.closed)]),
    ),
    onAsk: asks ? features.ask((request) => kernel.confirmations.ask(request)) : undefined,
    approvals: options.approvals,
    keepRule: async (rule, scope) => {
      if (scope === 'project') await ruleFiles.add(rule, workspace.scope)
      authority.addRule(rule)
      if (scope === 'session')
        await recorder?.session({
          rules: authority.sessionRules.filter(({ source }) => source === 'session'),
        })
    },
    middleware: [...(options.middleware ?? []), ...kernel.redactor.middleware],
    before: features.before,
    after: features.after,
    // Hooks, guard and watchdog each have their own time limit, with their own error.
    guardTimeoutMs: maxGuardMs,
    budget: ({ toolName }) => kernel.spending.budget.beforeTool(toolName),
    writes: new WriteOrder(),
    lane: features.lane,
    runtimeFor: (request) => runtimeFor(kernel, workspace, seen, request, () => gate, mode),
    starting: recorder && ((call) => recorder.starting(call)),
    spill: (label, data) => workspace.scratch.write(label, data),
    record: (record) => {
      kernel.trace.add(record)
      for (const feature of featuresWith('callEnded')) feature.callEnded(kernel, record)
    },
    run: () => identityOf(kernel),
    toolTimeoutMs: options.toolTimeoutMs,
    now: kernel.now,
    newId: () => kernel.newId(),
  })
  return gate
}

function identityOf({ agentId, sessionId, activeRunId, queue, options }: SessionKernel): RunIdentity {
  const metadata = queue.active?.metadata ?? options.metadata
  return { agentId, sessionId, runId: activeRunId ?? 'host', ...omitUndefined({ metadata }) }
}

function runtimeFor(
  kernel: SessionKernel,
  workspace: Workspace,
  seen: SeenFiles,
  request: RuntimeRequest,
  gate: () => Gate,
  mode: RuntimeMode,
): ToolRuntime {
  const ownRun = request.origin === 'host' ? hostCalls : (kernel.activeRunId ?? 'host')
  const owner = { id: kernel.parent?.changesOf ?? ownRun }
  // Before the tool runs: it can be removed or replaced while it runs.
  const use = request.origin === 'host' ? undefined : seenUse(kernel, request.call.tool)
  let machine: ToolRuntime | undefined
  let session: RuntimeSession | undefined
  // Most tools use one part of their runtime or none, so that each is created when it is first read.
  return {
    get files() {
      return machineOf().files
    },
    get search() {
      return machineOf().search
    },
    get shell() {
      return machineOf().shell
    },
    get net() {
      return machineOf().net
    },
    get scratch() {
      return machineOf().scratch
    },
    get session() {
      return sessionOf()
    },
  }

  function sessionOf(): RuntimeSession {
    session ??= sessionServices(kernel, request, gate, mode)
    return session
  }

  function machineOf(): ToolRuntime {
    machine ??= machineFor(kernel, workspace, request, owner, use && { seen, use }, sessionOf)
    return machine
  }
}

/** Returns what a call can use of the machine. */
function machineFor(
  kernel: SessionKernel,
  workspace: Workspace,
  request: RuntimeRequest,
  owner: ChangeOwner,
  /** What the model sees of its files; absent for calls of the host. */
  sight: { readonly seen: SeenFiles; readonly use: SeenUse } | undefined,
  session: () => RuntimeSession,
): ToolRuntime {
  const permit = permitFor(request.call, request.authority, request.origin === 'host', workspace)
  const runtime = workspace.runtimeFor(
    { ...permit, onRequest: (asked) => reportNetwork(kernel, request, asked) },
    request.signal,
  )
  const place = { whole: workspace.files, scratch: () => workspace.scratch.path }
  const files = runtime.files && watchFiles(runtime.files, place, kernel.log.changes, owner)
  return {
    ...runtime,
    ...(runtime.net !== undefined && { net: tracedNet(runtime.net, session) }),
    ...(files !== undefined && {
      files: sight === undefined ? files : trackSeenFiles(files, workspace.files, sight.seen, sight.use),
    }),
  }
}

/** Attributes a request of a command to its call, in the events, the log and the trace. */
function reportNetwork(
  kernel: SessionKernel,
  { callId, call, request: { toolCallId } }: RuntimeRequest,
  request: NetworkRequest,
): void {
  kernel.trace.addRequest(callId, request)
  kernel.emit({
    type: 'network_request',
    toolId: toolCallId ?? callId,
    toolName: call.tool,
    ...omitUndefined(request),
  })
}

/** Adds the trace to requests of tools, for hosts that expect it. */
function tracedNet(net: RuntimeNet, session: () => RuntimeSession): RuntimeNet {
  return {
    fetch(url, request) {
      const traced = session().trace?.headersFor(url)
      return net.fetch(
        url,
        traced === undefined ? request : { ...request, headers: { ...traced, ...request?.headers } },
      )
    },
  }
}

/** Direct calls of the host do not count: the model has not seen what they read. */
function seenUse({ options, tools }: SessionKernel, tool: string): SeenUse {
  const kind = tools.get(tool)?.kind
  return {
    reads: kind === 'read',
    edits: kind === 'edit',
    staleWriteCheck: options.staleWriteCheck ?? true,
    requireReadBeforeWrite: options.requireReadBeforeWrite ?? false,
  }
}

const maxGuardMs = 600_000

function resolveTool(kernel: SessionKernel, name: string): AnyTool | undefined {
  for (const feature of featuresWith('resolveTool')) {
    const tool = feature.resolveTool(kernel, name)
    if (tool !== undefined) return tool
  }
  return undefined
}

type GateSteps = Required<Pick<GateParts, 'before' | 'after'>> & {
  readonly lane: GateParts['lane'] | undefined
  ask(onAsk: AskHandler): AskHandler
}

const continued: HookVerdict = { action: 'continue' }

/** Combines the gate steps of all features: in order before a call and around a question, in reverse after it. */
function gateFeatures(kernel: SessionKernel): GateSteps {
  const own = featuresWith('gate').flatMap((feature) => feature.gate(kernel) ?? [])
  const befores = own.flatMap(({ before }) => before ?? [])
  const afters = own.flatMap(({ after }) => after ?? []).reverse()
  return {
    before: (call) =>
      befores.reduce<HookVerdict | Promise<HookVerdict>>((verdict, before) => {
        // Later features cannot change that a call is blocked or skipped.
        const next = (known: HookVerdict): HookVerdict | Promise<HookVerdict> =>
          known.action === 'block' || known.action === 'skip' ? known : before(call, known)
        return verdict instanceof Promise ? verdict.then(next) : next(verdict)
      }, continued),
    after: (call) =>
      afters.reduce<void | Promise<void>>(
        (done, after) => (done instanceof Promise ? done.then(() => after(call)) : after(call)),
        undefined,
      ),
    ask: (onAsk) => own.reduceRight((next, { ask }) => ask?.(next) ?? next, onAsk),
    lane: own.find(({ lane }) => lane !== undefined)?.lane,
  }
}
