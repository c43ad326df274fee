import { relative, sep } from 'node:path'
import type { PermissionPolicy } from '../../authority/policy.js'
import { onAbort } from '../../loop/on-abort.js'
import { ownTools } from '../../session/builtin-tools.js'
import { checkOptions } from '../../session/check-options.js'
import type { SessionOptions } from '../../session/options.js'
import { retentionCaps } from '../../session/retention.js'
import { kernelOf } from '../../session/session-class.js'
import type { SessionStore } from '../../store/session-store.js'
import { messageOf } from '../../tool/errors.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import { isInside } from '../../workspace/inside.js'
import type { AgentConfig } from '../config/config.js'
import { secretsOf } from '../config/secrets.js'
import { configuredStore } from '../configured-store.js'
import { ScheduleError } from './errors.js'
import type { AgentDirHandle } from './handle.js'
import { hasStorage, mergeConfig } from './merge-config.js'
import { type ReadAgentDir, readAgentDir } from './read-agent-dir.js'
import { systemScheduleClock } from './schedule-clock.js'
import type { Schedule } from './schedule-files.js'
import type { OpenedSession } from './schedule-session.js'
import { createScriptTool } from './script-tool.js'
import { type ServeAgentDirOptions, splitOptions } from './serve-options.js'
import { type Edition, ServedDir, sessionIdOf } from './served-dir.js'
import type { ServingHost, SessionOpener } from './serving-host.js'
import { storeClock } from './store-clock.js'
import { WakeUps } from './triggers/wake-ups.js'

/** Reads a directory, opens a session for each of its schedules, and fires them when they are due. */
export async function serveAgentDir(
  directory: string,
  given: ServeAgentDirOptions,
  host: ServingHost,
): Promise<AgentDirHandle> {
  const { serving, session: options, signal } = splitOptions(given)
  checkOptions(options)
  const edition = async (): Promise<Edition> => {
    const read = readAgentDir(directory, {
      env: host.env,
      workspace: host.workspace,
      hostTools: ownTools(options).map(({ name }) => name),
      serverNames: [...host.config.mcpServers.map(({ name }) => name), ...serverNames(options)],
      ...omitUndefined({ timeZone: serving.timeZone }),
    })
    const { opener, store } = await openerFor(read, host)
    return {
      read,
      store: options.sessionStore ?? store,
      secretOf: (name) => host.env[name],
      open: (schedule, closing, now) =>
        openSession(schedule, read, { ...options, signal: closing }, opener, host, now),
    }
  }
  const first = await edition()
  const clock = await storeClock(serving.clock ?? systemScheduleClock, first.store)
  const parts = { directory, options: serving, clock, workspace: host.workspace, edition }
  const served = new ServedDir(parts, first)
  const stop = (): void => void served.stop({ drainMs: 0 })
  const undo = [host.signal, ...(signal === undefined ? [] : [signal])].map((one) => onAbort(one, stop))
  served.on(({ type }) => {
    if (type === 'stopped') for (const each of undo) each()
  })
  await served.start()
  return served
}

async function openerFor(
  read: ReadAgentDir,
  host: ServingHost,
): Promise<{ readonly opener: SessionOpener; readonly store: SessionStore | undefined }> {
  const { dir, config: own, servers, variables } = read
  const config: AgentConfig = mergeConfig(host.config, own)
  // A store of the directory is used only for its own sessions.
  const store = own !== undefined && hasStorage(own) ? configuredStore(config) : undefined
  const opener = host.opener({
    config,
    agentId: dir.name,
    secrets: secretsOf({ ...config, mcpServers: [...config.mcpServers, ...servers] }, [
      ...variables,
      ...hookSecrets(read, host),
    ]),
    ...omitUndefined({ store }),
  })
  return { opener, store: store ?? host.store }
}

/** The values of webhook secrets, which only the server may have. */
function hookSecrets({ schedules }: ReadAgentDir, { env }: ServingHost): string[] {
  return schedules.flatMap(({ definition }) => {
    const secret = definition.webhookSecret === undefined ? undefined : env[definition.webhookSecret]
    return secret === undefined ? [] : [secret]
  })
}

/** Opens the session of a schedule with its tools and MCP servers. Fails if one of its servers cannot be reached. */
async function openSession(
  schedule: Schedule,
  read: ReadAgentDir,
  options: SessionOptions,
  opener: SessionOpener,
  host: ServingHost,
  now: () => number,
): Promise<OpenedSession> {
  const { timeoutMs, wakeUps: maxWakeUps } = schedule.definition
  const wakeUps = maxWakeUps === undefined ? undefined : new WakeUps(maxWakeUps, now)
  const permissionPolicy = protectAgentDir(
    options.permissionPolicy ?? undefined,
    read.dir.path,
    host.workspace,
  )
  const limits = [timeoutMs, options.maxExecutionTimeMs].filter((limit) => limit !== undefined)
  const opened = await opener({
    retentionLimits: retentionCaps,
    ...options,
    sessionId: sessionIdOf(schedule),
    role: read.dir.instructions,
    tools: [
      ...ownTools(options),
      ...read.scripts.map((script) => createScriptTool(script, host.machine)),
      ...(wakeUps === undefined ? [] : [wakeUps.tool()]),
    ],
    // Fires are queued by their runner; prompts of the host are queued here.
    whenBusy: 'queue',
    ...omitUndefined({
      permissionPolicy,
      skillDirs: read.skillDir === undefined ? undefined : [...(options.skillDirs ?? []), read.skillDir],
      maxExecutionTimeMs: limits.length > 0 ? Math.min(...limits) : undefined,
    }),
  })
  const { session } = opened
  try {
    for (const server of read.servers) if (server.enabled !== false) await session.addMcp(server)
    return { ...opened, wakeUps }
  } catch (error) {
    await session.close()
    // The last output of a server can contain the secrets that it was started with.
    const message = kernelOf(session).redactor.text(messageOf(error))
    throw message === messageOf(error) ? error : new ScheduleError('schedule_start_failed', message)
  }
}

function serverNames({ mcpServers }: SessionOptions): string[] {
  if (mcpServers === undefined) return []
  return Array.isArray(mcpServers) ? mcpServers.map(({ name }) => name) : Object.keys(mcpServers)
}

/** The files and folders of an agent directory. */
const parts = ['instructions.md', 'agent.acl', 'schedules', 'skills', 'tools']

/**
 * Adds denies for sessions whose agent directory is in their workspace: they cannot write to it. The directory decides
 * which programs are started with which variables, so a session that changes it would extend its own permissions.
 */
function protectAgentDir(
  policy: PermissionPolicy | undefined,
  directory: string,
  workspace: string,
): PermissionPolicy | undefined {
  if (!isInside(workspace, directory)) return policy
  const place = relative(workspace, directory).split(sep).map(plain).join('/')
  const own = (place === '' ? parts : [place]).map((pattern) => `fs.write(${pattern})`)
  // These rules apply even if the given policy is turned off.
  if (policy === undefined || policy.enabled === false) return { deny: own }
  return { ...policy, deny: [...(policy.deny ?? []), ...own] }
}

/**
 * Converts a name to a pattern. Special characters become wildcards: denying too much is safer than denying too little.
 */
function plain(name: string): string {
  return name.replace(/[^\p{L}\p{N}._ -]/gu, '?')
}
