/** The notes that a model can save, find and delete. Notes of users and hosts can be found, and not deleted. */
export interface RuntimeMemory {
  /** Returns the id of the note. */
  remember(text: string, tags: readonly string[]): Promise<string>
  /** Returns the notes as quoted data. Undefined when none matches. */
  recall(query: string, limit: number): Promise<string | undefined>
  /** Returns false when no note of a model has this id. */
  forget(id: string): Promise<boolean>
}

declare module '../tool/session-services.js' {
  interface RuntimeSession {
    /** The notes of the model across sessions. Absent: the host has not turned them on. */
    readonly memory?: RuntimeMemory | undefined
  }
}
