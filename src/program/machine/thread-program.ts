import type { JSValueHandle, QuickJS } from 'quickjs-wasi'
import {
  clockSlots,
  type FromThread,
  type GuestCall,
  type GuestFailure,
  type ThreadSetup,
  type ToThread,
} from './messages.js'
import type { TypeStripper } from './type-stripper.js'

type Start = Extract<ToThread, { kind: 'start' }>
type Answer = Extract<ToThread, { kind: 'answer' }>
/** A sandbox in which no script has run yet. */
type Sandbox = {
  readonly vm: QuickJS
  readonly seed: JSValueHandle
  readonly start: JSValueHandle
  readonly deliver: JSValueHandle
}

/** Returns the program of a thread as text: a separate file would not be found both from sources and from bundles. */
export function threadProgram(): string {
  return `(${serve.toString()})(require('node:worker_threads'), (url) => import(url), ${JSON.stringify(clockSlots)})`
}

/** Runs in the thread. Everything it uses is inside it or passed to it. */
async function serve(
  threads: typeof import('node:worker_threads'),
  load: <Module>(url: string) => Promise<Module>,
  slots: typeof clockSlots,
): Promise<void> {
  const port = threads.parentPort
  const setup = threads.workerData as ThreadSetup
  const clock = new Float64Array(setup.clock)
  const { QuickJS, EvalFlags } = await load<typeof import('quickjs-wasi')>(setup.engineUrl)
  const maxLogBytes = 64 * 1024
  const maxLogLines = 1_000
  const maxWaiting = 2_000
  const maxTextLength = 16 * 1024 * 1024
  const maxSleeps = 10_000

  const monotonic = (): number => {
    const [seconds, nanos] = process.hrtime()
    return seconds * 1_000 + nanos / 1e6
  }
  const say = (message: FromThread): void => port?.postMessage(message)

  /** The state of the running program; a new one for each. */
  const idle = () => ({
    running: undefined as Start | undefined,
    /** The guest's clock. */
    at: 0,
    sleeps: 0,
    ended: undefined as FromThread | undefined,
    calls: 0,
    waiting: 0,
    outbox: [] as GuestCall[],
    logBytes: 0,
    logLines: 0,
  })
  let state = idle()
  let sandbox: Sandbox

  const failed = (failure: GuestFailure): FromThread => ({ kind: 'failed', failure })
  const read = (slot: keyof typeof slots): number => clock[slots[slot]] ?? 0
  const isLate = (): boolean => {
    const now = monotonic()
    const since = read('activeSince')
    return now > read('deadline') || read('active') + (since === 0 ? 0 : now - since) > read('activeLimit')
  }
  const isOver = (): boolean => state.ended !== undefined || isLate()

  /** Returns text from the guest; undefined when it is not text, or too long to be sent. */
  const textOf = (handle: JSValueHandle | undefined): string | undefined => {
    if (!handle?.isString) return undefined
    const length = handle.getProp('length').consume((own) => own.toNumber())
    return length > maxTextLength ? undefined : handle.toString()
  }

  const post = (operation: string, id: number, text: string): string | undefined => {
    const { running } = state
    if (running === undefined || state.ended !== undefined) return 'the program has ended'
    if (state.waiting >= maxWaiting) return `PTC script has more than ${maxWaiting} calls in flight`
    if (operation === 'sleep') {
      const ms = JSON.parse(text) as unknown
      if (typeof ms !== 'number' || !(ms >= 0)) return 'sleep(ms) takes a number of milliseconds'
      if (state.sleeps >= maxSleeps) return `PTC script slept more than ${maxSleeps} times`
      state.sleeps++
    } else {
      if (state.calls >= running.maxToolCalls)
        return `PTC script exceeded maxToolCalls=${running.maxToolCalls}`
      state.calls++
    }
    state.outbox.push({ id, operation, text })
    state.waiting++
    return undefined
  }

  const log = (level: string, line: JSValueHandle | undefined): void => {
    if (state.running === undefined || state.logBytes > maxLogBytes || state.logLines > maxLogLines) return
    const text = textOf(line) ?? '[a line that is too long]'
    const room = maxLogBytes - state.logBytes
    state.logLines++
    state.logBytes += text.length
    const cut = text.length > room || state.logLines > maxLogLines
    if (cut) state.logBytes = maxLogBytes + 1
    say({ kind: 'log', level, text: cut ? `${text.slice(0, room)}[console output cut here]` : text })
  }

  const end = (how: string, text: string | undefined): void => {
    if (state.running === undefined || state.ended !== undefined) return
    const { maxResultBytes } = state.running
    if (how === 'result') {
      const bytes = text === undefined ? Number.POSITIVE_INFINITY : Buffer.byteLength(text)
      state.ended =
        text !== undefined && bytes <= maxResultBytes
          ? { kind: 'result', text }
          : failed({
              reason: 'unwritable',
              message: `it is longer than maxOutputBytes=${maxResultBytes} bytes as JSON (limits.maxOutputBytes may be up to 16777216)`,
            })
      return
    }
    const thrown = how === 'missing' ? {} : (JSON.parse(text ?? '{}') as Partial<GuestFailure>)
    state.ended = failed({
      reason: how as GuestFailure['reason'],
      name: String(thrown.name ?? ''),
      message: String(thrown.message ?? ''),
      stack: String(thrown.stack ?? ''),
    })
  }

  const refuseImport = (name: string): never => {
    // Text and not an error: the engine would copy the stack of an error into the guest, with paths of this machine.
    throw `imports are not allowed inside PTC scripts: ${name.slice(0, 200)}`
  }

  const createSandbox = async (): Promise<Sandbox> => {
    const vm = await QuickJS.create({
      wasm: setup.module,
      memoryLimit: setup.memoryBytes,
      maxStackSize: setup.stackBytes,
      interruptHandler: isOver,
      timezoneOffset: 0,
      moduleLoader: { normalize: (_, name) => refuseImport(name), load: refuseImport },
      wasi: (memory) => ({
        clock_time_get: (_id: number, _precision: bigint, at: number) => {
          const millis = (state.running?.startedAt ?? 0) + state.at
          new DataView(memory.buffer).setBigUint64(at, BigInt(Math.round(millis)) * 1_000_000n, true)
          return 0
        },
        // Output of the engine itself on its standard streams is discarded.
        fd_write: (_fd: number, vectors: number, count: number, written: number) => {
          const view = new DataView(memory.buffer)
          let total = 0
          for (let one = 0; one < count; one++) total += view.getUint32(vectors + one * 8 + 4, true)
          view.setUint32(written, total, true)
          return 0
        },
      }),
    })
    const callbacks = [
      vm.newFunction('post', (operation, id, text) => {
        const sent = textOf(text)
        const refused =
          sent === undefined
            ? 'the arguments of a call are JSON of at most 16 MiB'
            : post(operation?.toString() ?? '', id?.toNumber() ?? 0, sent)
        return refused === undefined ? vm.undefined : vm.newString(refused)
      }),
      vm.newFunction('log', (level, line) => {
        log(level?.toString() ?? '', line)
        return vm.undefined
      }),
      vm.newFunction('end', (how, text) => {
        end(how?.toString() ?? '', textOf(text))
        return vm.undefined
      }),
    ]
    clock[slots.deadline] = Number.POSITIVE_INFINITY
    clock[slots.activeLimit] = Number.POSITIVE_INFINITY
    const halves = vm
      .evalCode(setup.guest, '<ctx>')
      .consume((made) => vm.callFunction(made, vm.undefined, ...callbacks))
    const part = (name: string) => halves.getProp(name)
    return { vm, seed: part('seed'), start: part('start'), deliver: part('deliver') }
  }

  /** Runs something inside the engine, and all that follows from it; then reports the result. */
  const pump = (action: (sandbox: Sandbox) => void): void => {
    clock[slots.activeSince] = monotonic()
    try {
      action(sandbox)
      sandbox.vm.executePendingJobs()
    } catch (error) {
      state.ended ??= failed(describe(error))
    }
    clock[slots.active] = read('active') + monotonic() - read('activeSince')
    clock[slots.activeSince] = 0
    if (state.outbox.length > 0) say({ kind: 'calls', calls: state.outbox.splice(0) })
    if (state.ended === undefined && state.waiting === 0)
      state.ended = failed({ reason: 'stalled', message: '' })
    if (state.ended !== undefined) finish(state.ended)
  }

  /** Describes what the engine threw: an error of the script before it ran, or the engine's own end. */
  const describe = (error: unknown): GuestFailure => {
    const { name = '', message = '', stack = '' } = error as Partial<Error>
    if (isLate()) return { reason: 'interrupted', message, stack }
    const own = error instanceof WebAssembly.RuntimeError || error instanceof RangeError
    return { reason: own ? 'crashed' : 'source', name, message, ...(own ? {} : { stack }) }
  }

  const finish = (ended: FromThread): void => {
    state = idle()
    sandbox.vm.dispose()
    say(ended)
    // A thread whose script failed is not reused: the host terminates it.
    if (ended.kind !== 'result') return
    void createSandbox().then((fresh) => {
      sandbox = fresh
      say({ kind: 'ready' })
    })
  }

  /**
   * Removes the types in the thread, where a source that keeps the parser busy blocks nothing else and is stopped in
   * time.
   */
  const scriptOf = async ({ source, fileName, stripper }: Start): Promise<string> => {
    if (stripper === undefined) return source
    const { transform } = await load<Partial<TypeStripper>>(stripper)
    if (transform === undefined)
      throw new Error(
        'the module that removes types was not found: leave capstan out of your bundle, or write JavaScript',
      )
    return transform(source, { transforms: ['typescript'], disableESTransforms: true, filePath: fileName })
      .code
  }

  const begin = async (program: Start): Promise<void> => {
    state.running = program
    clock[slots.active] = 0
    let script: string
    try {
      script = await scriptOf(program)
    } catch (error) {
      const { message = '', loc } = error as Partial<Error> & { loc?: { line: number; column: number } }
      const words = message.replace(/^Error transforming .*?: (?=\S)/, '').replace(/ \(\d+:\d+\)$/, '')
      const stack = loc === undefined ? '' : `    at ${program.fileName}:${loc.line}:${loc.column}`
      return finish(failed({ reason: 'source', name: 'SyntaxError', message: words, stack }))
    }
    pump(({ vm, seed, start }) => {
      vm.callFunction(seed, vm.undefined, vm.newNumber(program.startedAt)).dispose()
      // A top-level `run` is found, exported or not. On a separate line, because a comment may be the last thing in
      // the script.
      const source = `${script}\n;export const capstanRun = typeof run === 'undefined' ? undefined : run`
      const module = vm.evalCode(source, program.fileName, EvalFlags.TYPE_MODULE)
      vm.callFunction(start, vm.undefined, module, vm.newString(program.inputs)).dispose()
    })
    if (program.ack && state.running !== undefined) say({ kind: 'taken', id: 0 })
  }

  const receive = ({ id, ok, text, at, ack }: Answer): void => {
    if (state.running === undefined) return
    state.waiting--
    state.at = at
    pump(({ vm, deliver }) => {
      const parts = [vm.newNumber(id), ok ? vm.true : vm.false, vm.newString(text)]
      vm.callFunction(deliver, vm.undefined, ...parts).dispose()
      for (const part of parts) part.dispose()
    })
    // A program that has ended has reported it, and no caller waits for more.
    if (ack && state.running !== undefined) say({ kind: 'taken', id })
  }

  sandbox = await createSandbox()
  port?.on('message', (message: ToThread) => {
    if (message.kind === 'start') void begin(message)
    else receive(message)
  })
  say({ kind: 'ready' })
}
