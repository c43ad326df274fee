import { isAbsolute } from 'node:path'
import { load } from '../session/journal/restore.js'
import type { SessionOptions } from '../session/options.js'
import { readSessionCursor, sessionCursor } from '../store/session-cursor.js'
import type { SessionInfo } from '../store/session-store.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import type { AcpHost } from './acp-host.js'
import type { AcpSession } from './acp-session.js'
import { mcpServersIn } from './mcp-servers.js'
import type { MethodContext, MethodTable, Params } from './method.js'
import { textIn, textsIn } from './params.js'
import { invalidParams, RpcError, rpcCodes } from './rpc-error.js'

const pageSize = 50

/** The methods that open, list, change, close and delete sessions. */
export const sessionMethods: MethodTable = {
  async 'session/new'(params, context) {
    const { host } = context
    host.assertSignedIn()
    const options = optionsIn(params)
    const place = await host.placeWithModel(cwdIn(params))
    const opened = host.open(place, options)
    // Saved now, because the client may load it in another process before the first prompt.
    await opened.session.save()
    return { sessionId: opened.id, ...(await described(opened, context)) }
  },

  async 'session/load'(params, context) {
    const opened = await reopened(params, context.host)
    // The replay is sent before the response, so that the client then has the whole conversation.
    await opened.replay()
    return described(opened, context)
  },

  async 'session/resume'(params, context) {
    return described(await reopened(params, context.host), context)
  },

  async 'session/list'(params, { host }) {
    const cursor = typeof params['cursor'] === 'string' ? readSessionCursor(params['cursor']) : undefined
    if (typeof params['cursor'] === 'string' && cursor === undefined)
      throw invalidParams('The cursor is not valid.')
    const cwd = typeof params['cwd'] === 'string' ? cwdIn(params) : undefined
    const { store, workspace } = await host.place(cwd ?? host.options.cwd)
    const isWanted = (info: SessionInfo): boolean =>
      (cwd === undefined || info.workspaceRoot === workspace) && (cursor?.isAfter(info) ?? true)
    const page: SessionInfo[] = []
    for await (const info of host.options.sessions(store, isWanted)) {
      page.push(info)
      if (page.length > pageSize) break
    }
    const shown = page.slice(0, pageSize)
    const last = shown.at(-1)
    return {
      sessions: shown.flatMap(shownInfo),
      nextCursor: page.length > pageSize && last !== undefined ? sessionCursor(last) : undefined,
    }
  },

  async 'session/delete'(params, { host }) {
    const id = textIn(params, 'sessionId')
    await host.close(id)
    // Deleting a session that does not exist is not an error.
    for (const { store } of await host.allPlaces()) if (await store.delete(id)) break
    return {}
  },

  async 'session/close'(params, { host }) {
    const { id } = host.session(textIn(params, 'sessionId'))
    await host.close(id)
    return {}
  },

  async 'session/set_mode'(params, { host, afterResponse }) {
    const session = host.session(textIn(params, 'sessionId'))
    await session.setMode(textIn(params, 'modeId'))
    afterResponse(() => session.showChanges())
    return {}
  },

  async 'session/set_config_option'(params, { host, afterResponse }) {
    const session = host.session(textIn(params, 'sessionId'))
    await session.setOption(textIn(params, 'configId'), textIn(params, 'value'))
    afterResponse(() => session.showChanges())
    return { configOptions: await session.configOptions() }
  },
}

/** Returns the rest of a response that opens a session. Later changes are sent after it. */
async function described(opened: AcpSession, { afterResponse }: MethodContext): Promise<object> {
  afterResponse(() => opened.showChanges())
  return opened.settings()
}

async function reopened(params: Params, host: AcpHost): Promise<AcpSession> {
  host.assertSignedIn()
  const sessionId = textIn(params, 'sessionId')
  const options = optionsIn(params)
  const place = await host.placeWithModel(cwdIn(params))
  const row = (await load(place.store, sessionId))?.session
  if (row === undefined)
    throw new RpcError(rpcCodes.notFound, `There is no session ${JSON.stringify(sessionId)}.`, {
      code: 'session_not_found',
    })
  if (row.workspaceRoot !== undefined && row.workspaceRoot !== place.workspace)
    throw invalidParams(`The session belongs to ${row.workspaceRoot}, not to ${place.workspace}.`)
  await host.close(sessionId)
  const saved = row.model === undefined ? undefined : `${row.model.provider}/${row.model.id}`
  const model = saved !== undefined && place.models.includes(saved) ? place.resolveModel(saved) : undefined
  return host.open(place, { ...options, sessionId, ...omitUndefined({ model }) })
}

function optionsIn(params: Params): SessionOptions {
  const [mcpServers, roots] = [mcpServersIn(params), textsIn(params, 'additionalDirectories')]
  const relative = roots.find((path) => !isAbsolute(path))
  if (relative !== undefined) throw invalidParams(`additionalDirectories must be absolute paths: ${relative}`)
  return {
    ...(mcpServers.length > 0 && { mcpServers }),
    ...(roots.length > 0 && { roots }),
  }
}

function cwdIn(params: Params): string {
  const cwd = textIn(params, 'cwd')
  if (!isAbsolute(cwd)) throw invalidParams(`cwd must be an absolute path, not ${JSON.stringify(cwd)}.`)
  return cwd
}

function shownInfo({ id, workspaceRoot, title, updatedAtMs }: SessionInfo): object[] {
  // Clients open a session by its directory, so one without a directory is not listed.
  if (workspaceRoot === undefined) return []
  const updatedAt = updatedAtMs === undefined ? undefined : new Date(updatedAtMs).toISOString()
  return [{ sessionId: id, cwd: workspaceRoot, title, updatedAt }]
}
