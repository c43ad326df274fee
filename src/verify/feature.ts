import type { FeatureContext } from '../feature/feature-context.js'
import { both, type Check, count, either, fields, is, readable, strings } from '../feature/option-check.js'
import type { ServiceCall, SessionFeature } from '../feature/session-feature.js'
import type { VerificationReport } from '../store/verification.js'
import type { UserMessage } from '../tool/completion.js'
import { type Envelope, errorEnvelope } from '../tool/envelope.js'
import type { JsonObject } from '../tool/json.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import type { RuntimeSession } from '../tool/session-services.js'
import { lookInside } from '../workspace/files/quick-look.js'
import {
  type Before,
  type CheckCommand,
  failureMessage,
  findPresets,
  isPending,
  type Plan,
  type PresetCommand,
  ReportList,
  Requirement,
  readCommands,
  readReports,
  readSubject,
  reportOf,
  restoredOffer,
  restoredReport,
  runChecks,
  type VerificationPreset,
  type VerifyRequirement,
  withDoubt,
} from './index.js'

export type VerifyFeatureOptions = {
  /** What must be true before a run is done: checks that run when the model says so; failures go back to it. */
  readonly verify?: VerifyRequirement
}

type VerifySession = FeatureContext<VerifyFeatureOptions & { readonly trustStore?: boolean }>

const somethingToVerify: Check = (value) => {
  const { commands = [], presets = false } = value as VerifyRequirement
  return commands.length > 0 || presets === true || (presets !== false && presets.length > 0)
    ? undefined
    : '% asks for nothing: give it commands, or presets: true.'
}

/** Runs checks, keeps their reports, and holds runs to a requirement. */
export const verifyFeature: SessionFeature<Verification, VerifyFeatureOptions> = {
  name: 'verify',
  create: (session) => new Verification(session),
  options: {
    verify: both(
      fields({
        commands: readable(readCommands),
        presets: either(is('boolean'), strings),
        subject: readable(readSubject),
        maxAttempts: count(1),
        asModel: is('boolean'),
      }),
      somethingToVerify,
    ),
  },
  /** Where evidence is asked for, an answer alone is not the end. */
  checksAnswers: ({ options }) => options.verify !== undefined,
  /** What can be checked is found before the model, or an agent that is asked first, works on it. */
  beforeRun(session) {
    const { verify } = session.options
    return verify && requirementOf(session, verify)
  },
  services: { verify: verifyService },
  offers: {
    checks: (session) => ({
      reports: () => reportsOf(session),
      run: (subject, commands, signal) => session.use(verifyFeature).runAsModel(subject, commands, signal),
    }),
  },
}

async function requirementOf(session: VerifySession, verify: VerifyRequirement) {
  const check = await session.use(verifyFeature).requirement(verify)
  return {
    beforeDone: ({ signal }: { readonly signal: AbortSignal }) => check(hostVerifier(session, signal)),
  }
}

/** `runtime.session.verify`: each command is a call of the caller, with the caller's authority. */
function verifyService(session: VerifySession, call: ServiceCall): RuntimeSession['verify'] {
  const { signal: outer, origin } = call.request
  return (subject, commands, given = {}) => {
    const signal = given.signal === undefined ? outer : AbortSignal.any([outer, given.signal])
    const options = { signal, ...omitUndefined({ watch: given.watch }) }
    return session.use(verifyFeature).verify(subject, commands, {
      origin: origin === 'host' ? 'host' : 'model',
      signal,
      async bash(args) {
        const [envelope] = await call.tools().callAll([{ tool: 'bash', args }], options)
        return envelope ?? errorEnvelope('The call gave no result.')
      },
    })
  }
}

/** Runs the commands of checks, with the authority of a caller. */
export type Verifier = {
  readonly origin: VerificationReport['origin']
  /** `asModel`: the model brought the command, so it runs with the model's authority. */
  bash(args: { readonly command: string; readonly timeout?: number }, asModel: boolean): Promise<Envelope>
  readonly signal: AbortSignal
}

class Verification {
  readonly #session: VerifySession
  readonly reports = new ReportList()
  #requirement: Requirement | undefined

  constructor(session: VerifySession) {
    this.#session = session
    for (const saved of session.restored?.reports ?? []) {
      const report = restoredReport(saved)
      if (report !== undefined) this.reports.add(report)
    }
  }

  async verify(subject: unknown, commands: unknown, verifier: Verifier): Promise<VerificationReport> {
    const plan = {
      commands: readCommands(commands),
      doubts: new Map(),
      brought: new Set<string>(),
      risks: [],
    }
    return this.#run(readSubject(subject), plan, verifier)
  }

  /** Runs commands with the model's permissions. */
  async runAsModel(subject: string, given: unknown, signal: AbortSignal) {
    const commands = readCommands(given)
    const brought = new Set(commands.map(({ id }) => id))
    const plan = { commands, doubts: new Map(), brought, risks: [] }
    const report = await this.#run(readSubject(subject), plan, hostVerifier(this.#session, signal))
    return { report, text: failureMessage(report) }
  }

  /** What a host had verified elsewhere. All of them or none. */
  async record(given: unknown): Promise<VerificationReport[]> {
    this.#session.assertOpen()
    const reports = readReports(given, this.#facts('host'))
    for (const report of reports) await this.#save(report)
    return reports
  }

  presets(): VerificationPreset[] {
    const { projectRoot } = this.#session
    return projectRoot === undefined ? [] : findPresets(lookInside(projectRoot))
  }

  /** For one run: looks at what is required when the model says that it is done. */
  async requirement(verify: VerifyRequirement): Promise<RequirementOfRun> {
    this.#requirement ??= new Requirement(verify, () => this.presets(), this.#before())
    const requirement = this.#requirement
    const found = requirement.look()
    if (found !== undefined) await this.#saveOffer(found)
    let attempts = 0
    return async (verifier) => {
      const report = await this.#run(requirement.subject, requirement.plan(), verifier)
      // Only what the model can put right goes back to it: what could not be run is for a person.
      if (report.status !== 'failed' || ++attempts >= requirement.maxAttempts) return undefined
      const text = failureMessage(report, requirement.maxAttempts - attempts)
      return { role: 'user', content: [{ type: 'text', text }] }
    }
  }

  /** A longer list is not saved: a resumed session finds the checks again. */
  async #saveOffer(found: readonly PresetCommand[]): Promise<void> {
    if (found.length > 0 && JSON.stringify(found).length <= maxOfferLength)
      await this.#session.log.recorder?.note({
        type: 'offered_checks',
        checks: found.map((check): JsonObject => ({ ...check })),
      })
  }

  /** What was there before the model's first work, when that was in another process. */
  #before(): Before | undefined {
    const { restored, options } = this.#session
    // Checks that were there before run with the host's authority: a log that tools could have written does not say
    // which those are.
    if (restored?.offered !== undefined && options.trustStore === true) return restoredOffer(restored.offered)
    return restored?.messages.some(({ message }) => message.role === 'assistant') ? 'unknown' : undefined
  }

  async #run(subject: string, plan: Plan, verifier: Verifier): Promise<VerificationReport> {
    const session = this.#session
    const emit: typeof session.emit = (event) => session.emit(event)
    const now = (): number => session.now()
    // The run at the start, also when another has started by the end.
    const facts = this.#facts(verifier.origin)
    emit({ type: 'verification_start', subject, checkCount: plan.commands.length })
    const checks = await runChecks(plan.commands, {
      bash: (args, { id }) => verifier.bash(args, plan.brought.has(id)),
      keepOutput: async (label, text) => (await session.engine.open()).workspace.scratch.write(label, text),
      signal: verifier.signal,
      started: ({ id, description }: CheckCommand) =>
        emit({ type: 'verification_check_start', subject, checkId: id, description }),
      ended: ({ id, status, required, duration_ms, exit_code }) =>
        emit({
          type: 'verification_check_end',
          subject,
          checkId: id,
          status,
          required,
          durationMs: duration_ms ?? 0,
          ...omitUndefined({ exitCode: exit_code }),
        }),
      now,
    })
    const report = reportOf(
      { subject, ...facts, at_ms: now() },
      checks.map((check) => withDoubt(check, plan.doubts.get(check.id))),
      plan.risks,
    )
    await this.#save(report)
    emit({
      type: 'verification_end',
      subject,
      status: report.status,
      failedCheckCount: checks.filter(({ status }) => status === 'failed').length,
      pendingCheckCount: checks.filter(isPending).length,
    })
    return report
  }

  /** Writes the report to the log before anything relies on it. */
  async #save(report: VerificationReport): Promise<void> {
    await this.#session.log.recorder?.note({ type: 'verification', report })
    this.reports.add(report)
  }

  #facts(origin: VerificationReport['origin']): Pick<VerificationReport, 'origin' | 'run_id' | 'at_ms'> {
    const run = this.#session.activeRunId
    return { origin, ...omitUndefined({ run_id: run }), at_ms: this.#session.now() }
  }
}

const maxOfferLength = 256 * 1024

/** With the host's authority, as for every direct call. */
export function hostVerifier(session: FeatureContext, given?: AbortSignal): Verifier {
  const closing = session.signal
  const signal = given === undefined ? closing : AbortSignal.any([given, closing])
  return {
    origin: 'host',
    signal,
    bash: async (args, asModel) => {
      if (asModel) return bashOfModel(session, args, signal)
      return (await session.callTool(bashFor(session, args.timeout), args, signal)).envelope
    },
  }
}

/** With the model's authority: rules apply, and the user is asked where they say so. */
async function bashOfModel(session: FeatureContext, args: unknown, signal: AbortSignal): Promise<Envelope> {
  const { gate } = await session.engine.open()
  const { envelope, fatal } = await gate.call({
    name: 'bash',
    input: { value: args },
    origin: 'model',
    signal,
  })
  if (fatal !== undefined) throw fatal.error
  return envelope
}

/** The model's tool, so that hooks on it see these calls too; the host's own where that one does not fit. */
function bashFor(session: FeatureContext, timeoutMs: number | undefined): string {
  const own = session.tools.get('bash') !== undefined && (timeoutMs ?? 0) <= maxModelTimeoutMs
  return own ? 'bash' : 'host_bash'
}

const maxModelTimeoutMs = 600_000

/** Every report of the session so far. A session that never verified anything has none to look through. */
function reportsOf(session: FeatureContext): readonly VerificationReport[] {
  const isStored = (session.restored?.reports.length ?? 0) > 0
  const verification = isStored ? session.use(verifyFeature) : session.peek(verifyFeature)
  return verification?.reports.list() ?? []
}

type RequirementOfRun = (verifier: Verifier) => Promise<UserMessage | undefined>
