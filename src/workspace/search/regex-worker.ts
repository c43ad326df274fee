export type WorkerRequest = {
  readonly setup: WorkerSetup
  /** The path of each file, or its bytes; null for one that cannot be read. */
  readonly files: readonly (string | Uint8Array | null)[]
  /** How many matches of a file to send with their text; the others are only counted. */
  readonly keep: number
  readonly before: number
  readonly after: number
}
export type WorkerSetup = {
  readonly source: string
  readonly flags: string
  readonly literal: string
  readonly maxLine: number
  /** Whether `/proc` shows the handles of this process, so that the real path of an open file can be read. */
  readonly exact: boolean
}
export type FoundLine = { readonly line: number; readonly at: number; readonly bytes: Uint8Array }
/** For each file: how many lines match and the first of them (`at` is -1 for context); null if it is unreadable. */
export type WorkerAnswer = readonly ({
  readonly count: number
  readonly lines: readonly FoundLine[]
} | null)[]

/**
 * Returns the source text of the worker that runs a model's pattern: a separate file would not be found both from
 * sources and from bundles.
 */
export function regexWorkerProgram(): string {
  return `(${searchFiles.toString()})(require('node:worker_threads'), require('node:fs'))`
}

/** Runs in the worker. Everything it uses is inside it or passed to it. */
function searchFiles(threads: typeof import('node:worker_threads'), fs: typeof import('node:fs')): void {
  const maxFileBytes = 256 * 1024 * 1024

  const read = (path: string, exact: boolean): Buffer | null => {
    const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = fs.constants
    let fd: number
    try {
      fd = fs.openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    } catch {
      return null
    }
    try {
      // A parent directory may have been replaced by a link since it was listed. Without `/proc` that is not detected.
      if (exact && fs.readlinkSync(`/proc/self/fd/${fd}`) !== path) return null
      const stat = fs.fstatSync(fd)
      return stat.isFile() && stat.size <= maxFileBytes ? fs.readFileSync(fd) : null
    } catch {
      return null
    } finally {
      fs.closeSync(fd)
    }
  }

  /** Returns the text of a file as UTF-8 bytes; undefined for a binary file. */
  const textOf = (bytes: Buffer): Buffer | undefined => {
    const [first, second, third] = bytes
    if (first === 0xff && second === 0xfe) return Buffer.from(new TextDecoder('utf-16le').decode(bytes))
    if (first === 0xfe && second === 0xff) return Buffer.from(new TextDecoder('utf-16be').decode(bytes))
    if (bytes.includes(0)) return undefined
    return first === 0xef && second === 0xbb && third === 0xbf ? bytes.subarray(3) : bytes
  }

  const search = (
    file: string | Uint8Array | null,
    request: WorkerRequest,
    regex: RegExp,
    literal: Buffer,
  ): WorkerAnswer[number] => {
    const { maxLine, exact } = request.setup
    const raw = typeof file === 'string' ? read(file, exact) : file && Buffer.from(file)
    if (raw === null) return null
    const bytes = textOf(raw)
    const lines: FoundLine[] = []
    if (bytes === undefined || (literal.length > 0 && !bytes.includes(literal))) return { count: 0, lines }
    const texts = bytes.toString().split('\n')
    const ended = texts.at(-1) === ''
    if (ended) texts.pop()
    const line = (index: number, at: number): FoundLine => {
      const whole = Buffer.from(texts[index] ?? '')
      return { line: index + 1, at, bytes: Uint8Array.from(whole.subarray(0, maxLine + 1)) }
    }
    let count = 0
    let sent = 0
    let lastMatch = Number.NEGATIVE_INFINITY
    for (let index = 0; index < texts.length; index += 1) {
      const text = texts[index] ?? ''
      // Includes the line feed, so that `^`, `$` and `\B` distinguish a CRLF from a lone CR; a match after it is not in
      // this line.
      const found = regex.exec(ended || index < texts.length - 1 ? `${text}\n` : text)
      const match = found !== null && found.index <= text.length ? found : null
      const keeping = count < request.keep
      if (match === null) {
        if (keeping && index <= lastMatch + request.after) {
          lines.push(line(index, -1))
          sent = index + 1
        }
        continue
      }
      if (keeping) {
        for (let early = Math.max(sent, index - request.before); early < index; early += 1)
          lines.push(line(early, -1))
        lines.push(line(index, Buffer.byteLength(text.slice(0, match.index))))
        sent = index + 1
      }
      count += 1
      lastMatch = index
    }
    return { count, lines }
  }

  threads.parentPort?.on('message', (request: WorkerRequest) => {
    const { source, flags, literal } = request.setup
    const regex = new RegExp(source, flags)
    const bytes = Buffer.from(literal)
    threads.parentPort?.postMessage(request.files.map((file) => search(file, request, regex, bytes)))
  })
}
