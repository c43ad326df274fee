import { FileMemoryStore } from '../../memory/index.js'
import type { SessionOptions } from '../../session/options.js'
import { DefaultSecurityProvider } from '../../session/security/index.js'
import { FileSessionStore } from '../../store/file/file-session-store.js'
import { MemorySessionStore } from '../../store/memory-store.js'
import type { SessionStore } from '../../store/session-store.js'
import { SqliteSessionStore } from '../../store/sqlite/sqlite-store.js'
import {
  type AhpTransport,
  HttpTransport,
  StdioTransport,
  UnixSocketTransport,
  WebSocketTransport,
} from '../../supervise/index.js'
import { isRecord } from '../../tool/json.js'
import { LocalWorkspaceBackend } from '../../workspace/local-backend.js'
import type { ClientCallbacks } from './client-callbacks.js'
import { listIn, optionalTextIn, ParamError, type Params, recordIn, textIn, textsIn } from './params.js'

/**
 * Makes the options of a session from what a client sent: data as it is, descriptions of stores and transports as
 * objects, and the client's own code as functions that call it. The session checks every value.
 */
export function sessionOptions(
  given: Params,
  callbacks: ClientCallbacks,
  memoryStores: Map<string, MemorySessionStore>,
): SessionOptions {
  const options: Record<string, unknown> = { ...given }
  const replace = (name: string, make: (value: Params) => unknown): void => {
    if (isRecord(given[name])) options[name] = make(recordIn(given, name))
  }
  replace('sessionStore', (store) => storeOf(store, memoryStores))
  replace('memoryStore', (store) => new FileMemoryStore(textIn(store, 'path')))
  replace('securityProvider', securityOf)
  replace('workspaceBackend', (backend) => new LocalWorkspaceBackend(textIn(backend, 'root')))
  replace('ahpTransport', transportOf)
  replace('budgetGuard', (guard) => callbacks.budgetGuard(guard))
  if (given['onAsk'] === true) options['onAsk'] = callbacks.ask
  if (given['onQuestion'] === true) options['onQuestion'] = callbacks.question
  const each = (name: string, make: (value: Params) => unknown): void => {
    if (given[name] !== undefined)
      options[name] = listIn(given, name).map((value) => make(asRecord(name, value)))
  }
  each('tools', (tool) => callbacks.tool(tool))
  each('hooks', (hook) => callbacks.hook(hook))
  each('commands', (command) => ({ ...command, handler: callbacks.command(textIn(command, 'name')) }))
  // The session checks the options when it is opened, as it does for those of a program.
  return options as SessionOptions
}

function asRecord(name: string, value: unknown): Params {
  if (!isRecord(value)) throw new ParamError(name, 'a list of objects')
  return value
}

export function storeOf(store: Params, memoryStores: Map<string, MemorySessionStore>): SessionStore {
  const kind = store['kind']
  if (kind === 'file') return new FileSessionStore(textIn(store, 'path'))
  if (kind === 'sqlite') return new SqliteSessionStore(textIn(store, 'path'))
  if (kind !== 'memory') throw new ParamError('sessionStore.kind', 'file, sqlite or memory')
  const id = textIn(store, 'id')
  const known = memoryStores.get(id) ?? new MemorySessionStore()
  memoryStores.set(id, known)
  return known
}

function securityOf(provider: Params): DefaultSecurityProvider {
  if (provider['kind'] !== 'default') throw new ParamError('securityProvider.kind', 'default')
  return new DefaultSecurityProvider()
}

function transportOf(transport: Params): AhpTransport {
  switch (transport['kind']) {
    case 'http':
      return new HttpTransport(textIn(transport, 'url'), optionalTextIn(transport, 'authToken'))
    case 'websocket':
      return new WebSocketTransport(textIn(transport, 'url'), optionalTextIn(transport, 'authToken'))
    case 'unix_socket':
      return new UnixSocketTransport(textIn(transport, 'path'))
    case 'stdio':
      return new StdioTransport(textIn(transport, 'program'), textsIn(transport, 'args'), {
        env: recordIn(transport, 'env') as Readonly<Record<string, string>>,
      })
    default:
      throw new ParamError('ahpTransport.kind', 'http, websocket, stdio or unix_socket')
  }
}
