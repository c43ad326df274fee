/**
 * Reads paths that each end with NUL, chunk by chunk. A name that is not UTF-8 is passed over: no other tool could name
 * it.
 */
export function createPathReader(onPath: (path: string) => void): (chunk: Buffer) => boolean {
  let held: Buffer | undefined
  return (chunk) => {
    const data = held === undefined ? chunk : Buffer.concat([held, chunk])
    const end = data.lastIndexOf(0)
    held = end === data.length - 1 ? undefined : data.subarray(end + 1)
    if (end < 0) return true
    const text = data.toString('utf8', 0, end)
    const paths = text.split('\0')
    for (const path of text.includes('\uFFFD') ? paths.filter((each) => !each.includes('\uFFFD')) : paths)
      onPath(path)
    return true
  }
}
