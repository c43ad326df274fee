import { type AgentDefinition, takesTasks } from './agent-definition.js'

export type SuggestedAgent = { readonly agent: AgentDefinition; readonly confidence: number }

/**
 * Returns the agents that match a prompt, best match first. The match uses words only, without a model: an agent that
 * is named has the highest confidence; built-in agents are matched by typical phrases, others by how many words of
 * their description occur.
 */
export function suggestAgents(prompt: string, agents: readonly AgentDefinition[]): SuggestedAgent[] {
  const text = prompt.toLowerCase()
  return agents
    .filter((agent) => takesTasks(agent) && !agent.hidden)
    .map((agent) => ({ agent, confidence: confidenceIn(agent, text) }))
    .filter(({ confidence }) => confidence > 0)
    .sort((a, b) => b.confidence - a.confidence)
}

function confidenceIn(agent: AgentDefinition, text: string): number {
  if ([agent.name, ...(agent.aliases ?? [])].some((name) => isNamed(name, text))) return named
  const own = Object.hasOwn(builtin, agent.name) ? builtin[agent.name] : undefined
  if (own !== undefined) return own.words.test(text) ? own.confidence : 0
  return byDescription(agent.description, text)
}

const named = 0.96

/** `@name`, or "use the name subagent" in its usual forms. */
function isNamed(name: string, text: string): boolean {
  const literal = name.toLowerCase().replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  return new RegExp(
    `(^|\\s)@${literal}(?![\\w-])|\\b(use|ask|with|run) (the )?${literal} (sub)?agent\\b`,
  ).test(text)
}

const builtin: Readonly<Record<string, { readonly words: RegExp; readonly confidence: number }>> = {
  verification: {
    words: /\b(verif(y|ies)|check (that|whether|if)|does it (work|pass)|run the tests?)\b/,
    confidence: 0.88,
  },
  review: { words: /\b(code[- ]review|review (the|this|my|our)|find (bugs|defects))\b/, confidence: 0.86 },
  explore: {
    words:
      /\b(explore|where (is|are|do|does)|find (all|every|the files|where)|look through|search the (code|repository|workspace))\b/,
    confidence: 0.84,
  },
  general: { words: /\b(delegate|in parallel|hand (this|it) off|several independent)\b/, confidence: 0.83 },
  plan: {
    words: /\b(make a plan|plan (the|this|how|out)|draft a plan|design (the|an?) approach)\b/,
    confidence: 0.82,
  },
}

/** The confidence rises with one, two, or more words of the description. */
function byDescription(description: string, text: string): number {
  const lower = description.toLowerCase()
  const words = new Set((lower.match(/[\p{L}\p{N}]{4,}/gu) ?? []).filter((word) => !common.has(word)))
  const there = [...words].filter((word) =>
    new RegExp(`(?<![\\p{L}\\p{N}])${word}(?![\\p{L}\\p{N}])`, 'u').test(text),
  )
  const bonus = there.length > 0 && lower.includes('proactively') ? 0.08 : 0
  return there.length === 0 ? 0 : Math.min((steps[there.length - 1] ?? most) + bonus, named)
}

const steps = [0.62, 0.74]
const most = 0.8
const common: ReadonlySet<string> = new Set(
  'this that with from have will when then them they your into only also agent agents uses used using work works task tasks proactively'.split(
    ' ',
  ),
)
