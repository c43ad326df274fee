import type { CallItem } from './timeline.js'
import { argsOf } from './verdict.js'

/** What a call that ended changes in a file, as a unified diff; undefined for other calls. */
export function diffOf(call: CallItem): string | undefined {
  const stated = call.end?.metadata['diff']
  if (typeof stated === 'string') return stated
  if (call.end === undefined || call.end.isError || call.denied !== undefined) return undefined
  const { old_string: before, new_string: after, content, diff } = argsOf(call)
  if (call.toolName === 'edit' && typeof before === 'string' && typeof after === 'string')
    return linesDiff(before.split('\n'), after.split('\n'))
  if (call.toolName === 'patch' && typeof diff === 'string') return diff
  return call.toolName === 'write' && typeof content === 'string'
    ? linesDiff([], content.split('\n'))
    : undefined
}

/** Equal lines at the beginning and the end are shown once. */
function linesDiff(before: readonly string[], after: readonly string[]): string {
  let first = 0
  while (first < before.length && first < after.length && before[first] === after[first]) first++
  let last = 0
  const most = Math.min(before.length, after.length) - first
  while (last < most && before.at(-1 - last) === after.at(-1 - last)) last++
  return [
    ...after.slice(0, first).map((line) => ` ${line}`),
    ...before.slice(first, before.length - last).map((line) => `-${line}`),
    ...after.slice(first, after.length - last).map((line) => `+${line}`),
    ...after.slice(after.length - last).map((line) => ` ${line}`),
  ].join('\n')
}
