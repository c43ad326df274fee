/** Callbacks for changes of runs, by the id of the run. */
export class RunWatchers {
  readonly #byRun = new Map<string, Set<() => void>>()

  /** Adds a callback. Returns a function that removes it. */
  add(runId: string, onChange: () => void): () => void {
    const watchers = this.#byRun.get(runId) ?? new Set()
    this.#byRun.set(runId, watchers)
    watchers.add(onChange)
    return () => {
      watchers.delete(onChange)
      if (watchers.size === 0 && this.#byRun.get(runId) === watchers) this.#byRun.delete(runId)
    }
  }

  /** Calls the callbacks of a run, or of all runs. */
  notify(runId?: string): void {
    const called = runId === undefined ? [...this.#byRun.values()] : [this.#byRun.get(runId) ?? []]
    for (const watcher of called.flatMap((watchers) => [...watchers])) watcher()
  }
}
