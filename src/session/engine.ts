import { homedir } from 'node:os'
import type { Scope } from '../authority/scope.js'
import { combineWatchdogs, defaultWatchdog } from '../authority/watchdog.js'
import { gateHooks, hookedAsk } from '../hooks/index.js'
import { permitFor } from '../loop/call-permit.js'
import { createGate, type Gate } from '../loop/gate.js'
import type { RuntimeRequest } from '../loop/gate-parts.js'
import { createSessionAuthority, type SessionAuthority } from '../loop/session-authority.js'
import { WriteOrder } from '../loop/write-order.js'
import type { RuntimeMode, ToolRuntime } from '../tool/runtime.js'
import { findBelow } from '../workspace/files/find-below.js'
import { openWorkspace, type Workspace } from '../workspace/open-workspace.js'
import {
  type LoadedRules,
  openRuleFiles,
  type RuleFiles,
  type RuleFilesOptions,
} from '../workspace/rules/rule-files.js'
import { modeServices } from './change-mode.js'
import { watchClosedPaths } from './closed-store.js'
import type { EngineParts } from './engine-parts.js'
import { hostCalls } from './history/file-changes.js'
import { SeenFiles, type SeenUse, trackSeenFiles } from './history/seen-files.js'
import { watchFiles } from './history/watched-files.js'
import { hostTools } from './host-tools.js'
import { limitConcurrency } from './limit-concurrency.js'
import { awaitedTool } from './parts/mcp.js'
import { laneFor } from './parts/queue.js'
import { isSupervised, supervisionPart } from './parts/supervision.js'
import { sessionServices } from './services.js'
import { SingleFlight } from './single-flight.js'

/** The machinery of a session that touches the world: made when it is first needed, gone when the session is closed. */
export type Engine = {
  readonly workspace: Workspace
  readonly authority: SessionAuthority
  readonly gate: Gate
}

export function startEngine(parts: EngineParts): Promise<Engine> {
  const { root, userDir, options } = parts
  // Before its turn, so that all who begin at this moment look together. Who has more roots must know first where they lead.
  const rules = options.roots === undefined ? rulesAt({ root, userDir }, scopeAt(root)) : undefined
  return limitConcurrency(() => openEngine(parts, rules))
}

async function openEngine(
  parts: EngineParts,
  early: ReturnType<typeof rulesAt> | undefined,
): Promise<Engine> {
  const { options, root } = parts
  const workspace = openWorkspace({
    root,
    onNotice: (message) => parts.emit({ type: 'notice', source: 'workspace', message }),
    ...(options.sandbox !== undefined && { sandbox: options.sandbox }),
    ...(options.network !== undefined && { network: options.network }),
    ...(options.env !== undefined && { env: options.env }),
    ...(options.roots !== undefined && { roots: options.roots }),
    places: parts.places.current,
    ...(options.sessionStore?.paths !== undefined && { closed: options.sessionStore.paths }),
  })
  const place = { root: workspace.root, userDir: parts.userDir }
  const expected = keyOf({ root, userDir: parts.userDir }, scopeAt(root)) === keyOf(place, workspace.scope)
  const { ruleFiles, loaded } = await (expected && early ? early : rulesAt(place, workspace.scope))
  const { rules: projectRules, workspace: unread } = loaded
  if (unread !== undefined && unread.confirmed === false)
    parts.emit({
      type: 'notice',
      source: 'rules',
      message: `${ruleFiles.workspaceFile} came with the workspace and is not confirmed. Its rules can only deny and ask, not allow.`,
      code: 'rules_unconfirmed',
    })
  const authority = createSessionAuthority({
    scope: () => workspace.scope,
    tools: () => parts.shelf.all(),
    projectRules,
    sessionRules: parts.sessionRules,
    ...(options.permissionPolicy !== undefined && { policy: options.permissionPolicy }),
    ...(options.manifest !== undefined && { manifest: options.manifest }),
    ...(options.ceiling !== undefined && { ceiling: options.ceiling }),
    ...(options.mode !== undefined && { mode: options.mode }),
    ...(parts.parent !== undefined && { parent: parts.parent.authority }),
    ...(options.delegation?.approvals === true && { delegateApprovals: true }),
  })
  for (const message of authority.warnings)
    parts.emit({ type: 'notice', source: 'permissionPolicy', message })
  const gate = gateFor(parts, workspace, authority, ruleFiles)
  return { workspace, authority, gate }
}

type FoundRules = { readonly ruleFiles: RuleFiles; readonly loaded: LoadedRules }

function rulesAt(place: RuleFilesOptions, scope: Scope): Promise<FoundRules> {
  const found = rulesFound.ask(keyOf(place, scope), async () => {
    const ruleFiles = await openRuleFiles(place)
    return { ruleFiles, loaded: await ruleFiles.load(scope) }
  })
  // Whoever waits for it learns of it, and not before their turn.
  found.catch(() => undefined)
  return found
}

const rulesFound = new SingleFlight<FoundRules>()

function keyOf(place: RuleFilesOptions, scope: Scope): string {
  return JSON.stringify([place.root, place.userDir, scope])
}

/** Where a session lives that has nothing but its root; what the workspace says in the end is what counts. */
function scopeAt(root: string): Scope {
  return { variables: { workspace: [root] }, home: homedir() }
}

function gateFor(
  parts: EngineParts,
  workspace: Workspace,
  authority: SessionAuthority,
  ruleFiles: RuleFiles,
): Gate {
  const { options, shelf } = parts
  const lane = laneFor(parts)
  const { ask } = parts.confirmations
  const supervision = isSupervised(parts) ? parts.part(supervisionPart) : undefined
  const seen = new SeenFiles(parts.restored)
  const asks = options.onAsk !== undefined || options.confirmationPolicy?.enabled === true
  const mode = modeServices(parts, authority, asks)
  const gate = createGate({
    tools: {
      get: (name, origin) => {
        if (origin === 'host') return shelf.get(name) ?? hostTools.get(name) ?? awaitedTool(parts, name)
        return shelf.called(name) ?? awaitedTool(parts, name)
      },
      names: () => shelf.names(),
    },
    authorityFor: (tool) =>
      hostTools.get(tool.name) === tool ? authority.forHost(tool) : authority.for(tool),
    realPath: workspace.realPath,
    followLinks: workspace.followLinks,
    findBelow: (directory, fits) => findBelow(directory, fits),
    fileDigest: (path) =>
      workspace.files.read(path).then(
        ({ version }) => version,
        () => undefined,
      ),
    ...(options.manifest !== undefined && { manifest: options.manifest }),
    watchdog: combineWatchdogs(
      defaultWatchdog,
      ...(options.watchdog === undefined ? [] : [options.watchdog]),
      ...parts.watchdogs,
      ...(workspace.closed.length === 0 ? [] : [watchClosedPaths(workspace.closed)]),
    ),
    ...(asks && { onAsk: hookedAsk(parts.hooks, supervision?.confirmation(ask) ?? ask) }),
    ...(options.approvals !== undefined && { approvals: options.approvals }),
    keepRule: async (rule, scope) => {
      if (scope === 'project') await ruleFiles.add(rule, workspace.scope)
      authority.addRule(rule)
      if (scope === 'session')
        await parts.keeper?.session({
          rules: authority.sessionRules.filter(({ source }) => source === 'session'),
        })
    },
    middleware: parts.middleware,
    ...(supervision?.gateHooks(gateHooks(parts.hooks)) ?? gateHooks(parts.hooks)),
    // Hooks, guard and watchdog each have a time limit of their own, and say who it was.
    guardTimeoutMs: maxGuardMs,
    budget: ({ toolName }) => parts.budget.beforeTool(toolName),
    writes: new WriteOrder(),
    ...(lane !== undefined && { lane }),
    runtimeFor: (request) => runtimeFor(parts, workspace, seen, request, () => gate, mode),
    ...(parts.keeper !== undefined && { starting: (call) => parts.keeper?.starting(call) }),
    spill: (label, data) => workspace.scratch.write(label, data),
    record: parts.record,
    run: () => parts.identity(),
    ...(options.toolTimeoutMs !== undefined && { toolTimeoutMs: options.toolTimeoutMs }),
    now: parts.now,
    newId: parts.newId,
  })
  return gate
}

function runtimeFor(
  parts: EngineParts,
  workspace: Workspace,
  seen: SeenFiles,
  request: RuntimeRequest,
  gate: () => Gate,
  mode: RuntimeMode,
): ToolRuntime {
  const permit = permitFor(request.call, request.authority, request.origin === 'host', workspace)
  const runtime = workspace.runtimeFor(permit, request.signal)
  const ownRun = request.origin === 'host' ? hostCalls : parts.identity().runId
  const owner = { id: parts.parent?.changesOf ?? ownRun }
  const place = { whole: workspace.files, scratch: () => workspace.scratch.path }
  const files = runtime.files && watchFiles(runtime.files, place, parts.changes, owner)
  return {
    ...runtime,
    ...(files !== undefined && {
      files:
        request.origin === 'host'
          ? files
          : trackSeenFiles(files, workspace.files, seen, seenUse(parts, request.call.tool)),
    }),
    session: { ...sessionServices(parts, request, gate), mode },
  }
}

/** The host's own calls are not the model's: what they read the model has not seen. */
function seenUse({ options, shelf }: EngineParts, tool: string): SeenUse {
  const kind = shelf.get(tool)?.kind
  return {
    reads: kind === 'read',
    edits: kind === 'edit',
    staleWriteCheck: options.staleWriteCheck ?? true,
    requireReadBeforeWrite: options.requireReadBeforeWrite ?? false,
  }
}

const maxGuardMs = 600_000
