import type { RuntimeMode } from '../authority/mode.js'
import type { AskQuestions } from '../feature/question.js'
import type { ServiceCall } from '../feature/session-feature.js'
import { callInside } from '../loop/call-inside.js'
import type { Gate } from '../loop/gate.js'
import type { GateCall, RuntimeRequest } from '../loop/gate-parts.js'
import type { AnyGovernedTool } from '../tool/contract.js'
import type {
  CallSteps,
  Invocation,
  Question,
  QuestionAnswers,
  RuntimeSession,
  RuntimeTools,
} from '../tool/session-services.js'
import { featuresWith } from './features-with.js'
import { dataForms } from './host-tools.js'
import type { SessionKernel } from './kernel.js'

/** Returns what a tool can use of its session, with the authority of its call. */
export function sessionServices(
  kernel: SessionKernel,
  request: RuntimeRequest,
  gate: () => Gate,
  mode: RuntimeMode,
): RuntimeSession {
  const { ask } = kernel.questions
  const tools = toolServices(kernel, request, gate)
  const resumable = stepServices(kernel, request)
  const services: RuntimeSession = {
    todos: {
      list: () => kernel.plan.list(),
      replace: (todos) => {
        kernel.plan.replace(todos, kernel.emit)
        return kernel.log.recorder?.session({ todos })
      },
    },
    ...(ask !== undefined && {
      ask: (questions, own) => {
        const signal = own === undefined ? request.signal : AbortSignal.any([request.signal, own])
        return askUser(kernel, ask, questions, signal, resumable)
      },
    }),
    tools,
    mode,
    steps: resumable.steps,
  }
  const call: ServiceCall = { request, tools: () => tools }
  for (const [name, create] of featureServices())
    Object.defineProperty(services, name, { get: () => create(kernel, call), enumerable: true })
  return untilEnd(services, request, 1)
}

/**
 * Returns an object whose functions, and those of the objects in it, throw once the call has ended: a tool that stored
 * its runtime must not change the session later. For services of all features, without a check in each.
 */
function untilEnd<Service extends object>(
  service: Service,
  request: Pick<RuntimeRequest, 'hasEnded'>,
  levels: number,
): Service {
  return new Proxy(service, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key, target)
      if (typeof value === 'function')
        return (...args: unknown[]): unknown => {
          if (request.hasEnded) throw new DOMException('the call has ended', 'AbortError')
          return Reflect.apply(value, target, args)
        }
      return typeof value === 'object' && value !== null && levels > 0
        ? untilEnd(value, request, levels - 1)
        : value
    },
  })
}

type CreateService = (kernel: SessionKernel, call: ServiceCall) => unknown

/** The services of features by name. Each is created when it is read, because most calls use none of them. */
function featureServices(): readonly (readonly [string, CreateService])[] {
  known ??= featuresWith('services').flatMap(({ services }) => Object.entries(services))
  return known
}

let known: readonly (readonly [string, CreateService])[] | undefined

function toolServices(kernel: SessionKernel, outer: RuntimeRequest, gate: () => Gate): RuntimeTools {
  return {
    hidden: () => kernel.tools.hidden(),
    searchable: () => kernel.tools.searchable(),
    offer: (names) => kernel.tools.offer(names),
    hasDataForm: (tool) => dataFormOf(kernel, tool) !== undefined,
    callAll: (invocations, options = {}) =>
      callInside(gate(), outer, invocations, {
        ...options,
        identify: (invocation) => insideOf(kernel, outer, invocation),
      }),
  }
}

function dataFormOf({ tools }: SessionKernel, name: string): AnyGovernedTool | undefined {
  const tool = tools.get(name)
  return tool && dataForms.get(tool)
}

/** Returns the id and the data form of a call that another call makes. */
function insideOf(
  kernel: SessionKernel,
  outer: RuntimeRequest,
  { tool, id, form }: Invocation,
): Pick<GateCall, 'toolCallId' | 'inside' | 'form'> {
  const { toolCallId } = outer.request
  const data = form === 'data' ? dataFormOf(kernel, tool) : undefined
  return {
    ...(toolCallId !== undefined && id !== undefined && { toolCallId: `${toolCallId}/${id}`, inside: true }),
    form: data,
  }
}

/**
 * Asks the user questions. For a call of the model, a step is written to the log first: a resumed run makes the call
 * again, so the questions outlive the process.
 */
async function askUser(
  kernel: SessionKernel,
  ask: AskQuestions,
  questions: readonly Question[],
  signal: AbortSignal,
  { steps, toolCallId: callId }: Resumable,
): Promise<QuestionAnswers> {
  const saved = steps?.()
  if (saved?.before.length === 0) {
    const step: AskedStep = { questions, askedAtMs: kernel.now() }
    await saved.add([{ step: JSON.parse(JSON.stringify(step)) }])
  }
  return ask(questions, undefined, { callId, signal })
}

/** The step of a call that has asked the user questions. */
export type AskedStep = { readonly questions: readonly Question[]; readonly askedAtMs: number }

type Resumable = { readonly steps?: () => CallSteps; readonly toolCallId?: string }

/** Only a call of the model can be resumed, because it is in the log. */
function stepServices({ log: { recorder } }: SessionKernel, outer: RuntimeRequest): Resumable {
  const { toolCallId, origin } = outer.request
  if (recorder === undefined || toolCallId === undefined || origin !== 'model') return {}
  return { steps: () => untilEnd(recorder.stepsOf(toolCallId), outer, 0), toolCallId }
}
