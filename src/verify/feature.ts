import type { FeatureContext } from '../feature/feature-context.js'
import { both, type Check, count, either, fields, is, readable, strings } from '../feature/option-check.js'
import type { ServiceCall, SessionFeature } from '../feature/session-feature.js'
import type { VerificationReport } from '../store/verification.js'
import { errorEnvelope } from '../tool/envelope.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import type { RuntimeSession } from '../tool/session-services.js'
import { readCommands, readSubject, type VerifyRequirement } from './index.js'
import { hostVerifier, Verification, type VerifyFeatureOptions, type VerifySession } from './verification.js'

export type { VerifyFeatureOptions } from './verification.js'

const somethingToVerify: Check = (value) => {
  const { commands = [], presets = false } = value as VerifyRequirement
  return commands.length > 0 || presets === true || (presets !== false && presets.length > 0)
    ? undefined
    : '% asks for nothing: give it commands, or presets: true.'
}

/** Runs checks, stores their reports, and requires checks to pass before a run ends. */
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
  /** With a requirement, an answer alone does not end the run. */
  checksAnswers: ({ options }) => options.verify !== undefined,
  /** The project's checks are found before the model, or an agent that is consulted first, can change them. */
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

/** `runtime.session.verify`: each command is a tool call with the caller's authority. */
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

/** All reports of the session. The feature is not created for a session that never verified anything. */
function reportsOf(session: FeatureContext): readonly VerificationReport[] {
  const isStored = (session.restored?.reports.length ?? 0) > 0
  const verification = isStored ? session.use(verifyFeature) : session.peek(verifyFeature)
  return verification?.reports.list() ?? []
}
