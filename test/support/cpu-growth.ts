/**
 * How many times as much of the processor's time `work` takes for four times the size: about 4 when it is linear, 16 when it is
 * quadratic. A ratio, because the time itself depends on the machine and on what else runs there.
 */
export async function cpuGrowth(size: number, work: (size: number) => unknown): Promise<number> {
  const quarter = await cpuMs(() => work(Math.floor(size / 4)))
  const whole = await cpuMs(() => work(size))
  // Below this, what is measured is mostly the compiler and the collector.
  const floorMs = 50
  return whole / Math.max(quarter, floorMs)
}

async function cpuMs(work: () => unknown): Promise<number> {
  const started = process.cpuUsage()
  await work()
  return process.cpuUsage(started).user / 1000
}
