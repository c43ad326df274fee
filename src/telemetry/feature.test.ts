import { describe, expect, it } from 'vitest'
import type { FeatureContext } from '../feature/feature-context.js'
import { type TelemetrySetup, telemetryFeature } from './feature.js'

/** A session without telemetry, in which nothing may be created or read. */
const session = new Proxy(
  { setup: {} },
  {
    get(target, name) {
      if (name === 'setup') return target.setup
      throw new Error(`a session without telemetry reads ${String(name)}`)
    },
  },
) as unknown as FeatureContext<object, TelemetrySetup>

/** Arguments that must not be looked at. */
const untouched = new Proxy({}, { get: () => expect.unreachable() }) as never

describe('a session without telemetry', () => {
  it('adds nothing to a run, a request or a call, and observes none of them', () => {
    const { watchRun, startRun, watchRequest, gate, services, callEnded } = telemetryFeature
    expect(watchRun?.(session, 'r', untouched)).toBeUndefined()
    expect(startRun?.(session, 'r', untouched)).toBeUndefined()
    expect(watchRequest?.(session, untouched, untouched)).toBeUndefined()
    expect(gate?.(session)).toBeUndefined()
    expect(services?.trace?.(session, { request: untouched } as never)).toBeUndefined()
    expect(callEnded?.(session, untouched)).toBeUndefined()
  })

  it('has no other member that is called', () => {
    const known = ['name', 'create', 'close', 'watchRun', 'startRun', 'watchRequest', 'gate', 'services']
    expect(Object.keys(telemetryFeature)).toEqual([...known, 'callEnded'])
  })
})
