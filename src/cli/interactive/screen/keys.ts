import { emitKeypressEvents } from 'node:readline'
import type { Readable, Writable } from 'node:stream'

/** One key press, or a pasted text. */
export type Key =
  | {
      readonly kind: 'key'
      readonly name: string
      readonly ctrl: boolean
      readonly meta: boolean
      readonly shift: boolean
    }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'paste'; readonly text: string }

type Keypress = { name?: string; ctrl?: boolean; meta?: boolean; shift?: boolean; sequence?: string }
type RawInput = Readable & { setRawMode?: (raw: boolean) => unknown }

/** Reads keys from a terminal in raw mode. `stop` restores the terminal. */
export class Keys {
  readonly #stdin: RawInput
  readonly #stdout: Writable
  readonly #onKey: (key: Key) => void
  #pasted: string[] | undefined

  constructor(stdin: Readable, stdout: Writable, onKey: (key: Key) => void) {
    this.#stdin = stdin
    this.#stdout = stdout
    this.#onKey = onKey
  }

  start(): void {
    emitKeypressEvents(this.#stdin)
    this.#stdin.setRawMode?.(true)
    this.#stdin.on('keypress', this.#take)
    this.#stdin.resume()
    // Turns on bracketed paste: the terminal puts a marker before and after a paste.
    this.#stdout.write('\u001b[?2004h')
  }

  stop(): void {
    this.#stdin.off('keypress', this.#take)
    this.#stdin.setRawMode?.(false)
    this.#stdin.pause()
    this.#stdout.write('\u001b[?2004l')
  }

  readonly #take = (text: string | undefined, key: Keypress): void => {
    if (key.name === 'paste-start') {
      this.#pasted = []
      return
    }
    if (this.#pasted !== undefined) {
      if (key.name !== 'paste-end') this.#pasted.push(text ?? key.sequence ?? '')
      else {
        const pasted = this.#pasted.join('')
        this.#pasted = undefined
        this.#onKey({ kind: 'paste', text: readable(pasted) })
      }
      return
    }
    const { name, ctrl = false, meta = false, shift = false } = key
    if (text !== undefined && !ctrl && !meta && isReadable(text)) this.#onKey({ kind: 'text', text })
    else if (name !== undefined) this.#onKey({ kind: 'key', name, ctrl, meta, shift })
  }
}

/** Removes control characters except tabs and newlines. */
function readable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are removed
  return text.replace(/\r\n?/g, '\n').replace(/[\0-\x08\x0b-\x1f\x7f-\x9f]/g, '')
}

function isReadable(text: string): boolean {
  const code = text.codePointAt(0) ?? 0
  return code >= 0x20 && !(code >= 0x7f && code < 0xa0)
}
