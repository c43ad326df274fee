import type { RunParts } from '../../loop/run-parts.js'
import type { UserMessage } from '../../tool/completion.js'
import type { Envelope } from '../../tool/envelope.js'
import type { VerificationReport } from '../../tool/verification.js'
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
} from '../../verify/index.js'
import { lookInside } from '../../workspace/files/quick-look.js'
import type { SessionCore } from '../core.js'
import { callTool } from '../direct-tools.js'
import type { SessionPart } from '../part.js'

/** What was verified in a session. */
export const verificationPart: SessionPart<Verification> = {
  name: 'verification',
  make: (core) => new Verification(core),
}

/** Who runs the commands: with whose authority, and until when. */
export type Verifier = {
  readonly origin: VerificationReport['origin']
  /** `asModel`: whoever verifies may do more than the one whose command it is. */
  bash(args: { readonly command: string; readonly timeout?: number }, asModel: boolean): Promise<Envelope>
  readonly signal: AbortSignal
}

class Verification {
  readonly #core: SessionCore
  readonly book = new ReportList()
  #requirement: Requirement | undefined

  constructor(core: SessionCore) {
    this.#core = core
    for (const kept of core.parts.restored?.reports ?? []) {
      const report = restoredReport(kept)
      if (report !== undefined) this.book.add(report)
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

  /** What a host had verified elsewhere. All of them or none. */
  async record(given: unknown): Promise<VerificationReport[]> {
    this.#core.assertOpen()
    const reports = readReports(given, this.#facts('host'))
    for (const report of reports) await this.#keep(report)
    return reports
  }

  presets(): VerificationPreset[] {
    return findPresets(lookInside(this.#core.parts.root))
  }

  /** For one run: looks at what is required when the model says that it is done. */
  async requirement(verify: VerifyRequirement): Promise<RequirementOfRun> {
    this.#requirement ??= new Requirement(verify, () => this.presets(), this.#before())
    const requirement = this.#requirement
    const found = requirement.look()
    if (found !== undefined) await this.#keepOffer(found)
    let attempts = 0
    return async (verifier) => {
      const report = await this.#run(requirement.subject, requirement.plan(), verifier)
      // Only what the model can put right goes back to it: what could not be run is for a person.
      if (report.status !== 'failed' || ++attempts >= requirement.maxAttempts) return undefined
      const text = failureMessage(report, attempts, requirement.maxAttempts)
      return { role: 'user', content: [{ type: 'text', text }] }
    }
  }

  /** One that is longer is not known to whoever goes on. */
  async #keepOffer(found: readonly PresetCommand[]): Promise<void> {
    if (found.length > 0 && JSON.stringify(found).length <= maxOfferLength)
      await this.#core.keeper?.offered(found)
  }

  /** What was there before the model's first work, when that was in another process. */
  #before(): Before | undefined {
    const { restored, options } = this.#core.parts
    // Checks that were there before run with the host's authority: a log that tools could have written does not say which those are.
    if (restored?.offered !== undefined && options.trustStore === true) return restoredOffer(restored.offered)
    return restored?.messages.some(({ message }) => message.role === 'assistant') ? 'unknown' : undefined
  }

  async #run(subject: string, plan: Plan, verifier: Verifier): Promise<VerificationReport> {
    const { emit, now } = this.#core
    // Whoever's run it was when it began, also when another has begun by its end.
    const facts = this.#facts(verifier.origin)
    emit({ type: 'verification_start', subject, checkCount: plan.commands.length })
    const checks = await runChecks(plan.commands, {
      bash: (args, { id }) => verifier.bash(args, plan.brought.has(id)),
      keepOutput: async (label, text) => (await this.#core.engine()).workspace.scratch.write(label, text),
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
          ...(exit_code !== undefined && { exitCode: exit_code }),
        }),
      now,
    })
    const report = reportOf(
      { subject, ...facts, at_ms: now() },
      checks.map((check) => withDoubt(check, plan.doubts.get(check.id))),
      plan.risks,
    )
    await this.#keep(report)
    emit({
      type: 'verification_end',
      subject,
      status: report.status,
      failedCheckCount: checks.filter(({ status }) => status === 'failed').length,
      pendingCheckCount: checks.filter(isPending).length,
    })
    return report
  }

  /** In the log before anybody counts on it. */
  async #keep(report: VerificationReport): Promise<void> {
    await this.#core.keeper?.verified(report)
    this.book.add(report)
  }

  #facts(origin: VerificationReport['origin']): Pick<VerificationReport, 'origin' | 'run_id' | 'at_ms'> {
    const run = this.#core.active?.id
    return { origin, ...(run !== undefined && { run_id: run }), at_ms: this.#core.now() }
  }
}

const maxOfferLength = 256 * 1024

/** What must hold before a run is done. For the run of a prompt alone: a question beside it, or data, is no work. */
export async function requiredOf(core: SessionCore): Promise<Pick<RunParts, 'beforeDone'>> {
  const { verify } = core.parts.options
  if (verify === undefined) return {}
  const isRight = await core.part(verificationPart).requirement(verify)
  return { beforeDone: ({ signal }) => isRight(hostVerifier(core, signal)) }
}

/** With the host's own authority, as every direct call has it. */
export function hostVerifier(core: SessionCore, given?: AbortSignal): Verifier {
  const closing = core.closing.signal
  const signal = given === undefined ? closing : AbortSignal.any([given, closing])
  return {
    origin: 'host',
    signal,
    bash: async (args, asModel) => {
      if (asModel) return bashOfModel(core, args, signal)
      return (await callTool(core, bashFor(core, args.timeout), args, signal)).envelope
    },
  }
}

/** Rules hold, and whoever is to be asked is asked. */
async function bashOfModel(core: SessionCore, args: unknown, signal: AbortSignal): Promise<Envelope> {
  const { gate } = await core.engine()
  const { envelope, fatal } = await gate.call({
    name: 'bash',
    input: { value: args },
    origin: 'model',
    signal,
  })
  if (fatal !== undefined) throw fatal.error
  return envelope
}

/** The tool that the model has, so that whoever watches it sees these too; the host's own where that one does not do. */
function bashFor(core: SessionCore, timeoutMs: number | undefined): string {
  const own = core.shelf.get('bash') !== undefined && (timeoutMs ?? 0) <= maxModelTimeoutMs
  return own ? 'bash' : 'host_bash'
}

const maxModelTimeoutMs = 600_000

/** Everything that was verified in the session so far. One that never verified anything has nothing to look through. */
export function reportsOf(core: SessionCore): readonly VerificationReport[] {
  const isStored = (core.parts.restored?.reports.length ?? 0) > 0
  const made = isStored ? core.part(verificationPart) : core.peekPart(verificationPart)
  return made?.book.list() ?? []
}

type RequirementOfRun = (verifier: Verifier) => Promise<UserMessage | undefined>
