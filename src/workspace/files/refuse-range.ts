import { PathInvalidError } from './errors.js'

export function refuseRange(path: string, start: number, end: number): void {
  if (Number.isSafeInteger(start) && Number.isSafeInteger(end) && start >= 0 && end >= start) return
  throw new PathInvalidError(
    path,
    `no range goes from ${start} to ${end}; give whole numbers, the start first`,
  )
}
