import type { SessionOptions } from '../../session/options.js'
import type { MemorySessionStore } from '../../store/memory-store.js'
import type { SessionStore } from '../../store/session-store.js'
import type { AhpTransport } from '../../supervise/index.js'
import { isRecord } from '../../tool/json.js'
import type { Params } from '../method.js'
import { objectsIn, textsIn } from '../params.js'
import { invalidParams } from '../rpc-error.js'
import type { ClientCallbacks } from './client-callbacks.js'
import { optionalStringIn, recordIn, stringIn } from './params.js'

/**
 * Creates the options of a session from a client's message: data stays as it is, descriptions of stores and
 * transports become objects, and the client's callbacks become functions that call it. The session validates every
 * value. The code of an option is loaded with it, because most sessions use few options.
 */
export async function sessionOptions(
  given: Params,
  callbacks: ClientCallbacks,
  memoryStores: Map<string, MemorySessionStore>,
): Promise<SessionOptions> {
  const options: Record<string, unknown> = { ...given }
  for (const [name, make] of Object.entries(makers))
    if (isRecord(given[name])) options[name] = await make(recordIn(given, name), memoryStores)
  if (isRecord(given['budgetGuard']))
    options['budgetGuard'] = callbacks.budgetGuard(recordIn(given, 'budgetGuard'))
  if (given['onAsk'] === true) options['onAsk'] = callbacks.ask
  if (given['onQuestion'] === true) options['onQuestion'] = callbacks.question
  const each = (name: string, make: (value: Params) => unknown): void => {
    if (given[name] === undefined) return
    options[name] = objectsIn(given, name).map(make)
  }
  each('tools', (tool) => callbacks.tool(tool))
  each('hooks', (hook) => callbacks.hook(hook))
  each('commands', (command) => ({ ...command, handler: callbacks.command(stringIn(command, 'name')) }))
  // The session validates the options when it is opened, like those of a program.
  return options as SessionOptions
}

type Maker = (given: Params, memoryStores: Map<string, MemorySessionStore>) => unknown

/** The options that are objects with methods, which a client sends as descriptions. */
const makers: Readonly<Record<string, Maker>> = {
  sessionStore: storeOf,
  async memoryStore(given) {
    const { FileMemoryStore } = await import('../../memory/index.js')
    return new FileMemoryStore(stringIn(given, 'path'))
  },
  async securityProvider(given) {
    if (given['kind'] !== 'default') throw invalidParams('securityProvider.kind must be default.')
    const { DefaultSecurityProvider } = await import('../../session/security/index.js')
    return new DefaultSecurityProvider()
  },
  async workspaceBackend(given) {
    const { LocalWorkspaceBackend } = await import('../../workspace/local-backend.js')
    return new LocalWorkspaceBackend(stringIn(given, 'root'))
  },
  ahpTransport: transportOf,
}

async function storeOf(store: Params, memoryStores: Map<string, MemorySessionStore>): Promise<SessionStore> {
  const kind = store['kind']
  if (kind === 'file') {
    const { FileSessionStore } = await import('../../store/file/file-session-store.js')
    return new FileSessionStore(stringIn(store, 'path'))
  }
  if (kind === 'sqlite') {
    const { SqliteSessionStore } = await import('../../store/sqlite/sqlite-store.js')
    return new SqliteSessionStore(stringIn(store, 'path'))
  }
  if (kind !== 'memory') throw invalidParams('sessionStore.kind must be file, sqlite or memory.')
  const { MemorySessionStore } = await import('../../store/memory-store.js')
  const id = stringIn(store, 'id')
  const known = memoryStores.get(id) ?? new MemorySessionStore()
  memoryStores.set(id, known)
  return known
}

async function transportOf(transport: Params): Promise<AhpTransport> {
  const { HttpTransport, StdioTransport, UnixSocketTransport, WebSocketTransport } = await import(
    '../../supervise/index.js'
  )
  switch (transport['kind']) {
    case 'http':
      return new HttpTransport(stringIn(transport, 'url'), optionalStringIn(transport, 'authToken'))
    case 'websocket':
      return new WebSocketTransport(stringIn(transport, 'url'), optionalStringIn(transport, 'authToken'))
    case 'unix_socket':
      return new UnixSocketTransport(stringIn(transport, 'path'))
    case 'stdio':
      return new StdioTransport(stringIn(transport, 'program'), textsIn(transport, 'args'), {
        // The transport rejects values that are not strings.
        env: recordIn(transport, 'env') as Readonly<Record<string, string>>,
      })
    default:
      throw invalidParams('ahpTransport.kind must be http, websocket, stdio or unix_socket.')
  }
}
