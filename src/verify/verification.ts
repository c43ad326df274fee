import type { FeatureContext } from '../feature/feature-context.js'
import type { VerificationReport } from '../store/verification.js'
import type { UserMessage } from '../tool/completion.js'
import type { Envelope } from '../tool/envelope.js'
import type { JsonObject } from '../tool/json.js'
import { omitUndefined } from '../tool/omit-undefined.js'
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
  /**
   * The checks that must pass before a run is done. They run when the model ends its work; failures are sent to it.
   */
  readonly verify?: VerifyRequirement
}

export type VerifySession = FeatureContext<VerifyFeatureOptions & { readonly trustStore?: boolean }>

/** Runs the commands of checks, with the authority of a caller. */
export type Verifier = {
  readonly origin: VerificationReport['origin']
  /** `asModel`: the model may have written the command, so it runs with the model's authority. */
  bash(args: { readonly command: string; readonly timeout?: number }, asModel: boolean): Promise<Envelope>
  readonly signal: AbortSignal
}

/** Runs the checks of one session and stores their reports. */
export class Verification {
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

  /** Records what a host verified elsewhere: all reports, or none if one is invalid. */
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

  /** Creates the check of one run, which is called when the model ends its work. */
  async requirement(verify: VerifyRequirement): Promise<RequirementOfRun> {
    this.#requirement ??= new Requirement(verify, () => this.presets(), this.#before())
    const requirement = this.#requirement
    const found = requirement.look()
    if (found !== undefined) await this.#saveOffer(found)
    let attempts = 0
    return async (verifier) => {
      const report = await this.#run(requirement.subject, requirement.plan(), verifier)
      // Only failures that the model can fix are sent to it; a check that could not run is for a user.
      if (report.status !== 'failed' || ++attempts >= requirement.maxAttempts) return undefined
      const text = failureMessage(report, requirement.maxAttempts - attempts)
      return { role: 'user', content: [{ type: 'text', text }] }
    }
  }

  /** A list that is too long is not saved: a resumed session finds the checks again. */
  async #saveOffer(found: readonly PresetCommand[]): Promise<void> {
    if (found.length > 0 && JSON.stringify(found).length <= maxOfferLength)
      await this.#session.log.recorder?.note({
        type: 'offered_checks',
        checks: found.map((check): JsonObject => ({ ...check })),
      })
  }

  /** The checks that existed before the model's first work, if that was in another process. */
  #before(): Before | undefined {
    const { restored, options } = this.#session
    // Checks that existed before run with the host's authority, so a log that tools could have written is not trusted
    // to name them.
    if (restored?.offered !== undefined && options.trustStore === true) return restoredOffer(restored.offered)
    return restored?.messages.some(({ message }) => message.role === 'assistant') ? 'unknown' : undefined
  }

  async #run(subject: string, plan: Plan, verifier: Verifier): Promise<VerificationReport> {
    const session = this.#session
    const emit: typeof session.emit = (event) => session.emit(event)
    const now = (): number => session.now()
    // Read at the start: another run may have started by the end.
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

/** Runs checks with the host's authority, like every direct call. */
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

/** Runs a command with the model's authority: rules apply, and the user is asked if they require it. */
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

/**
 * Returns the model's tool, so that hooks on it see these calls too, or the host's own if that one is not suitable.
 */
function bashFor(session: FeatureContext, timeoutMs: number | undefined): string {
  const own = session.tools.get('bash') !== undefined && (timeoutMs ?? 0) <= maxModelTimeoutMs
  return own ? 'bash' : 'host_bash'
}

const maxModelTimeoutMs = 600_000

type RequirementOfRun = (verifier: Verifier) => Promise<UserMessage | undefined>
