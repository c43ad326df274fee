import type { FeatureContext } from '../feature/feature-context.js'
import type { Goal } from '../feature/goal.js'
import { readable } from '../feature/option-check.js'
import type { RunRequest } from '../feature/run-request.js'
import type { RunChecks, SessionFeature } from '../feature/session-feature.js'
import type { GoalOutcome } from '../loop/events.js'
import type { Model } from '../model/model.js'
import { messageOf } from '../tool/errors.js'
import type { JsonObject } from '../tool/json.js'
import type { Pursuit } from './pursuit.js'
import { type CheckedGoal, parseGoal, readGoal, storedGoal } from './read-goal.js'

export type GoalFeatureOptions = {
  /** The goal of the session's runs, until it is reached once. A request can have its own. */
  readonly goal?: Goal
}

type GoalSession = FeatureContext<
  GoalFeatureOptions & { readonly maxToolRounds?: number; readonly trustStore?: boolean },
  { resolveModel(name?: string): Model }
>

/** Continues a run until its goal or a limit is reached. */
export const goalsFeature: SessionFeature<Goals, GoalFeatureOptions, { resolveModel(name?: string): Model }> =
  {
    name: 'goals',
    create: (session) => new Goals(session),
    options: { goal: readable((goal) => readGoal(goal)) },
    checkRequest: ({ goal }) => {
      if (goal !== undefined) readGoal(goal)
    },
    queuedRun: ({ goal }) => goalFact(goal),
    checksAnswers: ({ options }, run) => options.goal !== undefined || run.goal !== undefined,
    startRun: (session, _runId, request) => goalFact(goalsFor(session, request)?.goalOf(request)?.goal),
    beforeRun: (session, request) => goalsFor(session, request)?.begin(request),
    /** Shows the goal to the model. */
    extendPrompt(session, message) {
      const text = session.peek(goalsFeature)?.promptText()
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
        outcome: () => session.peek(goalsFeature)?.outcome,
        set: (text) => session.use(goalsFeature).set(text),
      }),
    },
  }

/** Undefined if neither the run nor the session has a goal: then nothing is created. */
function goalsFor(session: GoalSession, { goal, from }: RunRequest): Goals | undefined {
  const isGiven = goal !== undefined || from?.goal !== undefined || session.options.goal !== undefined
  return isGiven ? session.use(goalsFeature) : session.peek(goalsFeature)
}

/** The goal as stored in the row of a run. */
function goalFact(goal: Goal | undefined): { readonly goal: JsonObject } | undefined {
  return goal && { goal: storedGoal(goal) }
}

class Goals {
  readonly #session: GoalSession
  /** The goal of the session's runs; undefined once it is reached. */
  current: CheckedGoal | undefined
  /** Whether the host set the goal: a goal from `/goal` does not replace limits of the host. */
  #isOfHost = true
  outcome: GoalOutcome | undefined
  #pursuit: Pursuit | undefined

  constructor(session: GoalSession) {
    this.#session = session
    const { goal } = session.options
    this.current = goal && readGoal(goal)
  }

  /** Sets the goal from the argument of `/goal`; an empty one removes it. */
  set(text: string): CheckedGoal | undefined {
    this.current = text === '' ? undefined : parseGoal(text)
    this.#isOfHost = false
    return this.current
  }

  /**
   * Returns the goal of a run: its own, else that of the run it resumes, else that of the session. If the session
   * still has the goal of the resumed run, the session's definition is used, because it can have a judge that cannot
   * be stored in a log.
   */
  goalOf({
    goal: own,
    from,
  }: RunRequest): { readonly goal: CheckedGoal; readonly isOfHost: boolean } | undefined {
    const { current } = this
    if (own !== undefined) return { goal: readGoal(own), isOfHost: true }
    if (from?.goal !== undefined && from.goal['description'] !== current?.description)
      return { goal: this.#fromLog(from.goal), isOfHost: false }
    return current && { goal: current, isOfHost: this.#isOfHost }
  }

  /**
   * Reads a goal from the log. Other programs may be able to write the log, so its limits are at most those of the
   * host.
   */
  #fromLog(stored: JsonObject): CheckedGoal {
    const goal = readGoal(stored)
    const { goal: own, trustStore } = this.#session.options
    if (trustStore === true) return goal
    const widest = readGoal(own ?? { description: goal.description })
    return {
      ...goal,
      maxRounds: Math.min(goal.maxRounds, widest.maxRounds),
      maxTimeMs: Math.min(goal.maxTimeMs, widest.maxTimeMs),
      maxCostUsd: Math.min(goal.maxCostUsd, widest.maxCostUsd),
    }
  }

  async begin(request: RunRequest): Promise<RunChecks> {
    this.outcome = undefined
    this.#pursuit = undefined
    const found = this.goalOf(request)
    if (found === undefined) return {}
    const { goal, isOfHost } = found
    // Loaded on first use, because few sessions have a goal.
    const { Pursuit } = await import('./pursuit.js')
    const ended = (outcome: GoalOutcome): void => {
      this.outcome = outcome
      if (outcome.met && goal === this.current) this.current = undefined
    }
    this.#pursuit = new Pursuit(this.#session, goal, ended, request.from)
    return this.#pursuit.checks(isOfHost ? undefined : this.#session.options.maxToolRounds)
  }

  promptText(): string | undefined {
    return this.#pursuit?.promptText()
  }

  stopped(reason: string): void {
    this.#pursuit?.end('stopped', reason)
  }
}
