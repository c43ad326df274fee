import type { ModeName } from '../authority/mode.js'
import type { Engine } from '../feature/feature-context.js'
import { type FoundRules, startEngine } from './engine.js'
import { SeenFiles } from './history/seen-files.js'
import type { SessionKernel } from './kernel.js'
import { OutsideDirectories } from './outside-directories.js'

/**
 * The engine of a session: opened at the first use, closed with the session, and dropped between runs if only runs use
 * it. Also holds what must outlive a dropped engine.
 */
export class SessionEngine {
  readonly #kernel: SessionKernel
  readonly places: OutsideDirectories
  /** The file versions that the model has seen. */
  readonly seen: SeenFiles
  /** The rules from the session's start; absent until its engine was first opened. */
  rules: FoundRules | undefined
  #opening: Promise<Engine> | undefined
  /** The engine once it is open. */
  #opened: Engine | undefined
  /** Whether anything other than runs uses the engine. It then stays open until the session is closed. */
  #isHeld = false

  constructor(kernel: SessionKernel) {
    const { options, parent, restored, root } = kernel.setup
    this.#kernel = kernel
    this.places = parent?.session.engine.places ?? new OutsideDirectories(root, options)
    this.seen = new SeenFiles(restored)
  }

  /** Opens the engine at the first call; after a failure the next call tries again. */
  open(): Promise<Engine> {
    this.#isHeld = true
    return this.openForRun()
  }

  /** Opens the engine for a run, which does not use it after its end. */
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

  /** Returns the current mode. */
  async mode(): Promise<ModeName | undefined> {
    const engine = await this.#opening
    return engine === undefined ? this.#kernel.options.mode : engine.authority.mode
  }

  /**
   * Drops the engine between runs and returns whether it did. Does not drop an engine that is used by anything other
   * than runs, in which something was started, or whose rules or mode have changed.
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
