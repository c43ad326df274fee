import { callInOrder } from '../loop/call-order.js'
import type { Gate } from '../loop/gate.js'
import type { GateCall, GateOutcome, RuntimeRequest } from '../loop/gate-parts.js'
import type { AnyGovernedTool } from '../tool/contract.js'
import { errorEnvelope } from '../tool/envelope.js'
import type { CallWatch, Invocation, RuntimeSession, RuntimeTools } from '../tool/runtime.js'
import type { VerificationCommand, VerificationReport } from '../tool/verification.js'
import type { EngineParts } from './engine-parts.js'
import { dataForms } from './host-tools.js'
import { objectPart } from './parts/objects.js'
import { skillsPart } from './parts/skills.js'
import { tasksPart } from './parts/tasks.js'
import { verificationPart } from './parts/verification.js'

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
    verify: (subject, commands, options) => verifyAs(parts, request, gate, subject, commands, options),
    ...stepServices(parts, request),
    get tasks() {
      return parts.part(tasksPart)
    },
    get skills() {
      return parts.part(skillsPart).servicesFor(request.origin)
    },
    get objects() {
      return parts.part(objectPart)
    },
  }
}

/** Each command is a call of the one who asks: what they may not run is not run for them. */
function verifyAs(
  parts: EngineParts,
  outer: RuntimeRequest,
  gate: () => Gate,
  subject: string,
  commands: readonly (string | VerificationCommand)[],
  given: { readonly signal?: AbortSignal; readonly watch?: CallWatch } = {},
): Promise<VerificationReport> {
  const signal = given.signal === undefined ? outer.signal : AbortSignal.any([outer.signal, given.signal])
  const options = { signal, ...(given.watch !== undefined && { watch: given.watch }) }
  return parts.part(verificationPart).verify(subject, commands, {
    origin: outer.origin === 'host' ? 'host' : 'model',
    signal,
    async bash(args) {
      const [envelope] = await toolServices(parts, outer, gate).callAll([{ tool: 'bash', args }], options)
      return envelope ?? errorEnvelope('The call gave no result.')
    },
  })
}

function toolServices(parts: EngineParts, outer: RuntimeRequest, gate: () => Gate): RuntimeTools {
  return {
    hidden: () => parts.shelf.hidden(),
    offer: (names) => parts.shelf.offer(names),
    hasDataForm: (tool) => dataFormOf(parts, tool) !== undefined,
    async callAll(invocations, options = {}) {
      const signal =
        options.signal === undefined ? outer.signal : AbortSignal.any([outer.signal, options.signal])
      const waits = joinedWatch(options.watch ?? outer.request.watch)
      const ended = await callInOrder(
        invocations,
        options.maxConcurrency ?? defaultConcurrency,
        async (invocation, place): Promise<Pick<GateOutcome, 'envelope' | 'fatal'>> => {
          const { tool, args } = invocation
          if (signal.aborted)
            return { envelope: errorEnvelope(`Tool "${tool}" was not run: the run was aborted.`) }
          return waits.during((watch) =>
            gate().call({
              name: tool,
              input: { value: args },
              origin: outer.origin,
              signal,
              place,
              insideWriter: outer.writer,
              ...(watch !== undefined && { watch }),
              ...insideOf(parts, outer, invocation),
              ...(outer.request.turn !== undefined && { turn: outer.request.turn }),
            }),
          )
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

function dataFormOf({ shelf }: EngineParts, name: string): AnyGovernedTool | undefined {
  const tool = shelf.get(name)
  return tool && dataForms.get(tool)
}

/** What a call is within the one that makes it. */
function insideOf(
  parts: EngineParts,
  outer: RuntimeRequest,
  { tool, id, form }: Invocation,
): Pick<GateCall, 'toolCallId' | 'inside' | 'form'> {
  const { toolCallId } = outer.request
  const data = form === 'data' ? dataFormOf(parts, tool) : undefined
  return {
    ...(toolCallId !== undefined && id !== undefined && { toolCallId: `${toolCallId}/${id}`, inside: true }),
    ...(data !== undefined && { form: data }),
  }
}

/** Only what a model called can be gone on with: its call stands in the log. */
function stepServices({ keeper }: EngineParts, { request }: RuntimeRequest): Pick<RuntimeSession, 'steps'> {
  const { toolCallId, origin } = request
  if (keeper === undefined || toolCallId === undefined || origin !== 'model') return {}
  return { steps: () => keeper.stepsOf(toolCallId) }
}

/** Several calls wait for a yes when all that have not ended do. */
function joinedWatch(watch: CallWatch | undefined) {
  let open = 0
  let waiting = 0
  let told = false
  const tell = (): void => {
    const waits = waiting > 0 && waiting === open
    if (waits === told) return
    told = waits
    watch?.waiting(waits)
  }
  return {
    async during<Result>(call: (watch: CallWatch | undefined) => Promise<Result>): Promise<Result> {
      if (watch === undefined) return call(undefined)
      let own = false
      const wait = (waits: boolean): void => {
        if (waits === own) return
        own = waits
        waiting += waits ? 1 : -1
        tell()
      }
      open++
      tell()
      try {
        return await call({ waiting: wait })
      } finally {
        wait(false)
        open--
        tell()
      }
    },
  }
}
