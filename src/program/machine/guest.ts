/** The functions that the thread provides to the code inside the engine: plain functions over text and numbers. */
type Thread = {
  /** Sends a call; the answer comes through `deliver`. Returns the reason when it is rejected at once. */
  post(operation: string, id: number, text: string): string | undefined
  log(level: string, text: string): void
  end(how: 'result' | 'missing' | 'unwritable' | 'thrown', text: string): void
}
type Result = { name: string; output: string; text?: string; exitCode: number; metadata: unknown }
type Fields = Readonly<Record<string, unknown>>
type Run = (ctx: unknown, inputs: unknown) => unknown

/** The name of this file in stack traces, from which it is left out. */
export const guestFile = '<ctx>'

/**
 * Returns the guest's half of the bridge as source text. It is created before the script runs and stores everything
 * it uses, so that a script that changes built-in objects does not affect it. The other side decides what a script
 * can do.
 */
export function guestSource(): string {
  return `(${guest.toString()})`
}

/** Runs inside the engine. Everything it uses is inside it or passed to it. */
function guest(post: Thread['post'], log: Thread['log'], end: Thread['end']) {
  const { stringify, parse } = JSON
  const { defineProperty, create } = Object
  const { Error: ErrorOf, Promise: PromiseOf, Proxy: ProxyOf, String: text } = globalThis
  const { isArray } = Array
  const { imul } = Math
  const waiting: Record<number, { resolve(value: unknown): void; reject(error: Error): void }> = create(null)
  let last = 0

  const ask = (operation: string, body: unknown): Promise<unknown> => {
    // Created here, so that its stack shows the line of the script that called.
    const failure = new ErrorOf('')
    return new PromiseOf((resolve, reject) => {
      const id = ++last
      const settle = (message: string) => {
        failure.message = message
        reject(failure)
      }
      const refused = post(operation, id, stringify(body))
      if (refused !== undefined) settle(refused)
      else waiting[id] = { resolve, reject: ({ message }) => settle(message) }
    })
  }
  const deliver = (id: number, ok: boolean, answer: string): void => {
    const one = waiting[id]
    if (one === undefined) return
    delete waiting[id]
    if (ok) one.resolve(parse(answer))
    else one.reject({ name: 'Error', message: answer })
  }

  const tool = async (name: string, args: unknown = {}): Promise<Result> => {
    const result = (await ask('tool', { name: text(name), args })) as Result
    if (result.exitCode === 0) result.text = result.output
    return result
  }
  /** For helpers that return text: a failed call has none, so they throw. */
  const output = async (name: string, args: unknown): Promise<string> => {
    const result = (await ask('tool', { name, args, orThrow: true })) as Result
    return result.output
  }
  const fields = (value: unknown): Fields =>
    typeof value === 'object' && value !== null ? (value as Fields) : {}

  const ctx = {
    tool,
    tools: new ProxyOf(create(null) as object, {
      get: (_, name) =>
        typeof name !== 'string' || name === 'then' ? undefined : (args: unknown) => tool(name, args),
    }),
    readFile: (path: string, options?: unknown) => ask('readFile', { ...fields(options), file_path: path }),
    read: (path: string, options?: unknown) => tool('read', { ...fields(options), file_path: path }),
    grep: (pattern: string, options?: unknown) => output('grep', { ...fields(options), pattern }),
    glob: async (pattern: string, options?: unknown) => {
      const found = (await ask('glob', { ...fields(options), pattern })) as {
        paths: string[]
        truncated: boolean
      }
      return defineProperty(found.paths, 'truncated', { value: found.truncated })
    },
    ls: (path = '.', options?: unknown) => output('ls', { ...fields(options), path }),
    bash: (command: string, options?: unknown) => output('bash', { ...fields(options), command }),
    git: (command: unknown, options?: unknown) =>
      tool('git', typeof command === 'string' ? { ...fields(options), command } : command),
    webSearch: (params: unknown) => {
      if (typeof params === 'string') return tool('web_search', { query: params })
      const { limit, ...rest } = fields(params)
      return tool('web_search', limit === undefined ? rest : { ...rest, max_results: limit })
    },
    // The subject is optional.
    verify: (subject: unknown, commands?: unknown) => {
      const list = commands ?? subject
      return ask('verify', {
        subject: commands === undefined ? 'program' : subject,
        commands: isArray(list) ? list : [list],
      })
    },
  }

  const shown = (value: unknown): string => {
    try {
      // JSON converts some of them to null.
      if (typeof value !== 'object') return text(value)
      if (value instanceof ErrorOf) return `${value.name}: ${value.message}`
      return stringify(value) ?? text(value)
    } catch {
      return '[value without a string form]'
    }
  }
  const say =
    (level: string) =>
    (...parts: unknown[]): void => {
      let line = ''
      for (let at = 0; at < parts.length; at++) line += (at === 0 ? '' : ' ') + shown(parts[at])
      log(level, line)
    }
  const hidden = { writable: true, configurable: true, enumerable: false }
  const global = globalThis as unknown as Record<string, unknown>
  defineProperty(global, 'console', {
    ...hidden,
    value: {
      log: say('log'),
      info: say('info'),
      warn: say('warn'),
      error: say('error'),
      debug: say('debug'),
    },
  })
  defineProperty(global, 'sleep', {
    ...hidden,
    value: (ms: number) => ask('sleep', +ms),
  })
  // Shared memory between threads has no use here, and neither has a clock finer than a millisecond.
  delete global['SharedArrayBuffer']
  delete global['performance']

  const describeThrown = (thrown: unknown): string => {
    try {
      if (typeof thrown === 'object' && thrown !== null) {
        const { name, message, stack } = thrown as { name?: unknown; message?: unknown; stack?: unknown }
        const said = message === undefined ? shown(thrown) : text(message)
        return stringify({ name: text(name ?? 'Error'), message: said, stack: text(stack ?? '') })
      }
      return stringify({ name: '', message: `thrown: ${shown(thrown)}`, stack: '' })
    } catch {
      return stringify({ name: 'Error', message: 'an error that cannot be read', stack: '' })
    }
  }
  const start = async (module: Promise<Record<string, unknown>>, inputs: string): Promise<void> => {
    try {
      const space = await module
      const run = typeof space['default'] === 'function' ? space['default'] : space['capstanRun']
      if (typeof run !== 'function') return end('missing', '')
      const value = await (run as Run)(ctx, parse(inputs))
      let result: string | undefined
      try {
        result = stringify(value)
      } catch (error) {
        return end('unwritable', describeThrown(error))
      }
      end('result', result ?? 'null')
    } catch (error) {
      end('thrown', describeThrown(error))
    }
  }
  /** The same seed produces the same numbers, so that a program can be repeated exactly. */
  const seed = (from: number): void => {
    let state = from % 4_294_967_296
    const next = (): number => {
      state = (state + 0x6d2b79f5) | 0
      let mixed = imul(state ^ (state >>> 15), 1 | state)
      mixed = (mixed + imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
    }
    defineProperty(Math, 'random', { ...hidden, value: next })
  }
  return { seed, start, deliver }
}
