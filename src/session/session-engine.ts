import type { ModeName } from '../authority/mode.js'
import type { Engine } from '../feature/feature-context.js'
import { type FoundRules, startEngine } from './engine.js'
import { SeenFiles } from './history/seen-files.js'
import type { SessionKernel } from './kernel.js'
import { OutsideDirectories } from './outside-directories.js'

/**
 * The engine of a session: opened with the first use, closed with the session, and dropped between runs where nothing
 * but runs uses it. What must outlive a dropped engine is here, too.
 */
export class SessionEngine {
  readonly #kernel: SessionKernel
  readonly places: OutsideDirectories
  /** What the model has seen of files. */
  readonly seen: SeenFiles
  /** The rules that the session began with; absent until its engine was first opened. */
  rules: FoundRules | undefined
  #opening: Promise<Engine> | undefined
  /** The engine once it is open. */
  #opened: Engine | undefined
  /** Whether more than runs uses the engine. It then stays open until the session is closed. */
  #isHeld = false

  constructor(kernel: SessionKernel) {
    const { options, parent, restored, root } = kernel.setup
    this.#kernel = kernel
    this.places = parent?.session.engine.places ?? new OutsideDirectories(root, options)
    this.seen = new SeenFiles(restored)
  }

  /** Starts with the first call; a failed start is tried again at the next. */
  open(): Promise<Engine> {
    this.#isHeld = true
    return this.openForRun()
  }

  /** The same for a run, which keeps nothing of it beyond its end. */
  openForRun(): Promise<Engine> {
    this.#opening ??= startEngine(this.#kernel).then(
      (engine) => {
        this.#opened = engine
        return engine
      },
      (error: unknown) => {
        this.#opening = undefined
        throw error
      },
    )
    return this.#opening
  }

  /** The mode at this moment. */
  async mode(): Promise<ModeName | undefined> {
    const engine = await this.#opening
    return engine === undefined ? this.#kernel.options.mode : engine.authority.mode
  }

  /**
   * Drops the engine between runs and returns whether it did. An engine stays that more than runs uses, that something
   * was started in, or whose rules or mode have changed.
   */
  rest(): boolean {
    if (this.#isHeld || this.#opened === undefined) return false
    const { workspace, authority, gate } = this.#opened
    if (workspace.isUnused !== true || !authority.isUnchanged || !gate.isFresh) return false
    this.#opening = undefined
    this.#opened = undefined
    return true
  }

  async close(): Promise<void> {
    const engine = await this.#opening?.catch(() => undefined)
    await engine?.workspace.close()
  }
}
