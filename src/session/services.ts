import { callInside } from '../loop/call-inside.js'
import type { Gate } from '../loop/gate.js'
import type { GateCall, RuntimeRequest } from '../loop/gate-parts.js'
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
    callAll: (invocations, options = {}) =>
      callInside(gate(), outer, invocations, {
        ...options,
        identify: (invocation) => insideOf(parts, outer, invocation),
      }),
  }
}

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
