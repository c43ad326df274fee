import type { SessionOptions } from '../../session/options.js'
import type { MemorySessionStore } from '../../store/memory-store.js'
import type { SessionStore } from '../../store/session-store.js'
import type { AhpTransport } from '../../supervise/index.js'
import { isRecord } from '../../tool/json.js'
import type { ClientCallbacks } from './client-callbacks.js'
import { listIn, optionalTextIn, ParamError, type Params, recordIn, textIn, textsIn } from './params.js'

/**
 * Makes the options of a session from what a client sent: data as it is, descriptions of stores and transports as
 * objects, and the client's own code as functions that call it. The session checks every value. What an option needs
 * is loaded with it: most sessions use few of them.
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
    options[name] = listIn(given, name).map((value) => make(asRecord(name, value)))
  }
  each('tools', (tool) => callbacks.tool(tool))
  each('hooks', (hook) => callbacks.hook(hook))
  each('commands', (command) => ({ ...command, handler: callbacks.command(textIn(command, 'name')) }))
  // The session checks the options when it is opened, as it does for those of a program.
  return options as SessionOptions
}

type Maker = (given: Params, memoryStores: Map<string, MemorySessionStore>) => unknown

/** The options that are objects with methods: a client describes them. */
const makers: Readonly<Record<string, Maker>> = {
  sessionStore: storeOf,
  async memoryStore(given) {
    const { FileMemoryStore } = await import('../../memory/index.js')
    return new FileMemoryStore(textIn(given, 'path'))
  },
  async securityProvider(given) {
    if (given['kind'] !== 'default') throw new ParamError('securityProvider.kind', 'default')
    const { DefaultSecurityProvider } = await import('../../session/security/index.js')
    return new DefaultSecurityProvider()
  },
  async workspaceBackend(given) {
    const { LocalWorkspaceBackend } = await import('../../workspace/local-backend.js')
    return new LocalWorkspaceBackend(textIn(given, 'root'))
  },
  ahpTransport: transportOf,
}

function asRecord(name: string, value: unknown): Params {
  if (!isRecord(value)) throw new ParamError(name, 'a list of objects')
  return value
}

async function storeOf(store: Params, memoryStores: Map<string, MemorySessionStore>): Promise<SessionStore> {
  const kind = store['kind']
  if (kind === 'file') {
    const { FileSessionStore } = await import('../../store/file/file-session-store.js')
    return new FileSessionStore(textIn(store, 'path'))
  }
  if (kind === 'sqlite') {
    const { SqliteSessionStore } = await import('../../store/sqlite/sqlite-store.js')
    return new SqliteSessionStore(textIn(store, 'path'))
  }
  if (kind !== 'memory') throw new ParamError('sessionStore.kind', 'file, sqlite or memory')
  const { MemorySessionStore } = await import('../../store/memory-store.js')
  const id = textIn(store, 'id')
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
      return new HttpTransport(textIn(transport, 'url'), optionalTextIn(transport, 'authToken'))
    case 'websocket':
      return new WebSocketTransport(textIn(transport, 'url'), optionalTextIn(transport, 'authToken'))
    case 'unix_socket':
      return new UnixSocketTransport(textIn(transport, 'path'))
    case 'stdio':
      return new StdioTransport(textIn(transport, 'program'), textsIn(transport, 'args'), {
        // The transport refuses values that are no strings.
        env: recordIn(transport, 'env') as Readonly<Record<string, string>>,
      })
    default:
      throw new ParamError('ahpTransport.kind', 'http, websocket, stdio or unix_socket')
  }
}
