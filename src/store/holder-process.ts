import { isRecord } from '../tool/json.js'
import { isGone, type Owner, thisProcess } from '../workspace/scratch/owner.js'
import { readProcess } from '../workspace/shell/process-table.js'

/**
 * Determines the state of a holder's process from its description in a database: it has certainly ended, it runs, or it
 * is not visible from this machine.
 */
export function holderState(processJson: string): 'gone' | 'running' | 'unknown' {
  const owner = ownerIn(processJson)
  if (owner === undefined) return 'unknown'
  const self = thisProcess()
  if (isGone(owner, self)) return 'gone'
  if (!isVisible(owner, self)) return 'unknown'
  // A process that ended but was not reaped still has its id; in some containers forever.
  return owner.started !== 'x' && readProcess(owner.pid) === undefined ? 'gone' : 'running'
}

/** Describes this process for {@link holderState}. */
export function describeProcess(): string {
  return JSON.stringify(thisProcess())
}

/** Returns whether a process id is meaningful here: same machine and user, same boot, same namespace. */
function isVisible(owner: Owner, self: Owner): boolean {
  return owner.host === self.host && owner.boot === self.boot && owner.namespace === self.namespace
}

function ownerIn(json: string): Owner | undefined {
  const value: unknown = JSON.parse(json)
  if (!isRecord(value)) return undefined
  const { host, boot, namespace, pid, started } = value
  const texts = [host, boot, namespace, started]
  if (typeof pid !== 'number' || !texts.every((text) => typeof text === 'string')) return undefined
  return { host: `${host}`, boot: `${boot}`, namespace: `${namespace}`, pid, started: `${started}` }
}
