/**
 * Does this a few at a time. Hundreds of sessions that begin in one moment would otherwise take every step together,
 * and each such step would hold up all else that the process does. One that takes long is not waited for: what hangs,
 * hangs alone.
 */
export async function limitConcurrency<Result>(work: () => Promise<Result>): Promise<Result> {
  while (atWork.size >= maxConcurrent) await new Promise<void>(wait)
  const one = { seen: false }
  atWork.add(one)
  try {
    return await work()
  } finally {
    if (atWork.delete(one)) next()
  }
}

const maxConcurrent = 8
const maxSliceMs = 50
const waiting: (() => void)[] = []
const atWork = new Set<{ seen: boolean }>()
let patience: NodeJS.Timeout | undefined

/** There is a timer only while work waits, and one for all of it. */
function wait(go: () => void): void {
  waiting.push(go)
  patience ??= setInterval(passOver, maxSliceMs)
}

/** Who was at work the last time, too, has had a whole turn. */
function passOver(): void {
  for (const one of atWork) {
    if (one.seen && atWork.delete(one)) next()
    one.seen = true
  }
  if (waiting.length > 0) return
  clearInterval(patience)
  patience = undefined
}

function next(): void {
  // In a turn of its own, so that others get theirs in between.
  if (waiting.length > 0) setImmediate(() => waiting.shift()?.())
}
