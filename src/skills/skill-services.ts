import type { TaskAgent } from '../feature/task.js'

/** Finds and loads skills, which are instructions for kinds of work. */
export interface RuntimeSkills {
  /** Returns the skills that match, best first. */
  search(
    query: string,
    limit: number,
  ): Promise<{ readonly found: readonly SkillSummary[]; readonly total: number }>
  /**
   * Returns the text of a skill. If the model already has it, returns a note that says so, unless `reload` is set.
   * Rejects for an unknown name.
   */
  load(
    name: string,
    options?: { readonly reload?: boolean },
  ): Promise<{ readonly text: string; readonly already: boolean }>
  /** Returns the agent that runs this skill in its own session. Rejects for an unknown name. */
  agent(name: string): Promise<TaskAgent>
  /** Reports that this agent has finished. */
  ended(name: string): Promise<void>
}

/** The data by which a model chooses a skill. */
export type SkillSummary = {
  readonly name: string
  readonly description: string
  readonly kind: string
  readonly allowedTools: readonly string[]
}

declare module '../tool/session-services.js' {
  interface RuntimeSession {
    readonly skills?: RuntimeSkills
  }
}
