/**
 * Runs work with limited concurrency. Hundreds of sessions that start at the same time would otherwise run each step
 * together and block the event loop. Work that takes longer than a slice no longer counts, so work that hangs does not
 * block other work.
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

/** Uses one timer for all waiting work, and only while work waits. */
function wait(go: () => void): void {
  waiting.push(go)
  patience ??= setInterval(passOver, maxSliceMs)
}

/** Releases the slots of work that was already active at the last tick: it has had a whole slice. */
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
  // In a separate turn of the event loop, so that other work runs in between.
  if (waiting.length > 0) setImmediate(() => waiting.shift()?.())
}
