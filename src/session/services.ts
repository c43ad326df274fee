import { callInOrder } from '../loop/call-order.js'
import type { Gate } from '../loop/gate.js'
import type { GateOutcome, RuntimeRequest } from '../loop/gate-parts.js'
import { errorEnvelope } from '../tool/envelope.js'
import type { Invocation, RuntimeSession, RuntimeTools } from '../tool/runtime.js'
import type { EngineParts } from './engine-parts.js'

/** What a tool may ask of its session, with the authority of the call that asks. */
export function sessionServices(
  parts: EngineParts,
  request: RuntimeRequest,
  gate: () => Gate,
): RuntimeSession {
  const { onQuestion } = parts.options
  return {
    todos: {
      list: () => parts.plan.list(),
      replace: (todos) => {
        parts.plan.replace(todos, parts.emit)
        return parts.keeper?.session({ todos })
      },
    },
    ...(onQuestion !== undefined && {
      ask: async (questions) => {
        parts.emit({ type: 'user_question', questions })
        return onQuestion(questions)
      },
    }),
    tools: toolServices(parts, request, gate),
  }
}

function toolServices(parts: EngineParts, outer: RuntimeRequest, gate: () => Gate): RuntimeTools {
  return {
    hidden: () => parts.shelf.hidden(),
    offer: (names) => parts.shelf.offer(names),
    async callAll(invocations, options = {}) {
      const signal =
        options.signal === undefined ? outer.signal : AbortSignal.any([outer.signal, options.signal])
      const ended = await callInOrder(
        invocations,
        options.maxConcurrency ?? defaultConcurrency,
        async ({ tool, args }: Invocation, place): Promise<Pick<GateOutcome, 'envelope' | 'fatal'>> => {
          if (signal.aborted)
            return { envelope: errorEnvelope(`Tool "${tool}" was not run: the run was aborted.`) }
          return gate().call({
            name: tool,
            input: { value: args },
            origin: outer.origin,
            signal,
            place,
            ...(outer.request.turn !== undefined && { turn: outer.request.turn }),
          })
        },
      )
      // What must end the run ends it, however deep inside it happened.
      const fatal = ended.find((one) => one.fatal !== undefined)?.fatal
      if (fatal !== undefined) outer.endRun(fatal.error)
      return ended.map(({ envelope }) => envelope)
    },
  }
}

const defaultConcurrency = 8
