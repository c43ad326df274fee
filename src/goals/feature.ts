import type { FeatureContext } from '../feature/feature-context.js'
import type { Goal } from '../feature/goal.js'
import { readable } from '../feature/option-check.js'
import type { RunChecks, SessionFeature } from '../feature/session-feature.js'
import type { GoalOutcome } from '../loop/events.js'
import type { Model } from '../model/model.js'
import { messageOf } from '../tool/errors.js'
import type { Pursuit } from './pursuit.js'
import { type CheckedGoal, parseGoal, readGoal } from './read-goal.js'

export type GoalFeatureOptions = {
  /** What the runs of the session work towards, until it is reached once. A request can have its own. */
  readonly goal?: Goal
}

type GoalSession = FeatureContext<GoalFeatureOptions, { resolveModel(name?: string): Model }>

/** Sends a run back to work until its goal is reached, or a limit is. */
export const goalsFeature: SessionFeature<Goals, GoalFeatureOptions, { resolveModel(name?: string): Model }> =
  {
    name: 'goals',
    create: (session) => new Goals(session),
    options: { goal: readable(readGoal) },
    checksAnswers: ({ options }) => options.goal !== undefined,
    beforeRun(session, request) {
      if (request.goal === undefined && session.options.goal === undefined && !session.peek(goalsFeature))
        return undefined
      return session.use(goalsFeature).begin(request.goal)
    },
    /** The model is shown what it works towards. A resumed run was shown it when it started. */
    extendPrompt(session, message, { from }) {
      const text = from === undefined ? session.peek(goalsFeature)?.promptText() : undefined
      return text === undefined
        ? message
        : { ...message, content: [...message.content, { type: 'text', text }] }
    },
    afterRun(session, _run, end) {
      if ('error' in end) session.peek(goalsFeature)?.stopped(messageOf(end.error))
    },
    offers: {
      goals: (session) => ({
        current: () => session.use(goalsFeature).current,
        set: (text) => session.use(goalsFeature).set(text),
      }),
    },
  }

/** How the goal of the last run ended; undefined when it had none. */
export function goalOutcomeOf(session: FeatureContext): GoalOutcome | undefined {
  return session.peek(goalsFeature)?.outcome
}

class Goals {
  readonly #session: GoalSession
  /** The goal of the session's runs; undefined once it is reached. */
  current: CheckedGoal | undefined
  outcome: GoalOutcome | undefined
  #pursuit: Pursuit | undefined

  constructor(session: GoalSession) {
    this.#session = session
    const { goal } = session.options
    this.current = goal && readGoal(goal)
  }

  /** Takes the argument of `/goal`; an empty one removes the goal. */
  set(text: string): CheckedGoal | undefined {
    this.current = text === '' ? undefined : parseGoal(text)
    return this.current
  }

  async begin(own: Goal | undefined): Promise<RunChecks> {
    this.outcome = undefined
    this.#pursuit = undefined
    const goal = own === undefined ? this.current : readGoal(own)
    if (goal === undefined) return {}
    // Few sessions have a goal, so what works towards one is loaded with its first use.
    const { Pursuit } = await import('./pursuit.js')
    this.#pursuit = new Pursuit(this.#session, goal, (outcome) => {
      this.outcome = outcome
      if (outcome.met && goal === this.current) this.current = undefined
    })
    return this.#pursuit.checks()
  }

  promptText(): string | undefined {
    return this.#pursuit?.promptText()
  }

  stopped(reason: string): void {
    this.#pursuit?.end('stopped', reason)
  }
}
