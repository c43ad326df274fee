import type { MemoryItem, MemoryStats, RecalledMemory } from '../../memory/index.js'
import type { SkillInfo } from '../../skills/skill.js'
import { memoryOf } from '../parts/memory.js'
import { skillsPart } from '../parts/skills.js'
import { coreOf } from './session-surface.js'
import { TaskSurface } from './tasks.js'

/** What is known from before: memories and skills. */
export abstract class RecallSurface extends TaskSurface {
  /** The skills that were found, in the order in which they count, without their texts. */
  async skills(): Promise<SkillInfo[]> {
    return coreOf(this).part(skillsPart).list()
  }

  /** What was wrong with files that should be skills, and which names were taken: a sentence each. */
  async skillProblems(): Promise<readonly string[]> {
    return (await coreOf(this).part(skillsPart).library()).problems
  }

  /** Whether the session was given a memory. Without one the methods below say so. */
  get hasMemory(): boolean {
    return coreOf(this).parts.options.memoryStore !== undefined
  }

  /** Remembers a way that worked. The tools are tags that it is found by. Resolves when it is safe. */
  async rememberSuccess(prompt: string, tools: readonly string[], result: string): Promise<MemoryItem> {
    return (await memoryOf(coreOf(this))).rememberSuccess(prompt, tools, result)
  }

  /** Remembers what went wrong, to be avoided. */
  async rememberFailure(prompt: string, error: string, tools: readonly string[]): Promise<MemoryItem> {
    return (await memoryOf(coreOf(this))).rememberFailure(prompt, error, tools)
  }

  /** The memories that fit a text best: by its words, and by meaning where the session has an embedder. */
  async recallSimilar(query: string, limit = 5): Promise<RecalledMemory[]> {
    return (await memoryOf(coreOf(this))).recallSimilar(query, limit)
  }

  /** The memories that have any of the tags. Names of tools are tags. */
  async recallByTags(tags: readonly string[], limit = 10): Promise<RecalledMemory[]> {
    return (await memoryOf(coreOf(this))).recallByTags(tags, limit)
  }

  /** The newest memories, whoever remembered them. */
  async memoryRecent(limit = 10): Promise<MemoryItem[]> {
    return (await memoryOf(coreOf(this))).recent(limit)
  }

  async memoryStats(): Promise<MemoryStats> {
    return (await memoryOf(coreOf(this))).stats()
  }

  /** What this session remembered, the newest first. */
  async getShortTerm(): Promise<readonly MemoryItem[]> {
    return (await memoryOf(coreOf(this))).shortTerm()
  }

  /** Empties that view, and says how many there were. What is in the store stays. */
  async clearShortTerm(): Promise<number> {
    return (await memoryOf(coreOf(this))).clearShortTerm()
  }

  /** What the model was last shown of the memories, the newest first. */
  async getWorking(): Promise<readonly MemoryItem[]> {
    return (await memoryOf(coreOf(this))).working()
  }

  /** Empties that view, and says how many there were. */
  async clearWorking(): Promise<number> {
    return (await memoryOf(coreOf(this))).clearWorking()
  }
}
