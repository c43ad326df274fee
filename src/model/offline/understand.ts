import type { Planned } from './drive.js'
import { count } from './kinds/count.js'
import { find } from './kinds/find.js'
import { git } from './kinds/git.js'
import { list } from './kinds/list.js'
import { read } from './kinds/read.js'
import { replace } from './kinds/replace.js'
import { run } from './kinds/run.js'
import { write } from './kinds/write.js'
import type { Kind } from './plan.js'
import { sentencesOf } from './sentence.js'

/** Specific kinds come first: "show the diff" must not be read as a file name. */
const kinds: readonly Kind[] = [replace, write, count, git, run, list, read, find]

/** Returns the requests of a prompt, each with its plan if it is understood. */
export function understand(prompt: string): Planned[] {
  return sentencesOf(prompt).map((sentence) => ({ sentence, plan: planFor(sentence) }))
}

function planFor(sentence: string): Planned['plan'] {
  for (const kind of kinds) {
    const plan = kind.understand(sentence)
    if (plan !== undefined) return plan
  }
  return undefined
}

/** Returns one line for each kind of request. */
export function examples(): string[] {
  return kinds.map((kind) => kind.examples.join('   |   '))
}
