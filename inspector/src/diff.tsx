import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { safeText } from '../../src/cli/terminal/safe-text.js'
import { highlighted, languageOf } from './highlight.js'

const maxLines = 2_000
const maxLineChars = 2_000

/** A unified diff, or both versions next to each other. */
export function Diff({
  text,
  label,
  path,
}: {
  readonly text: string
  readonly label: string
  /** The file, where the diff does not name it. */
  readonly path?: string | undefined
}): JSX.Element {
  const isSplit = useSignal(false)
  const lines = text.split('\n')
  const shown = lines.slice(0, maxLines).map(shortened)
  const named = lines.find((line) => line.startsWith('+++ ') && !line.startsWith('+++ /dev/null'))
  const language = languageOf(path ?? named?.replace(/\t.*$/, '') ?? '')
  return (
    <div class="diff">
      <button
        type="button"
        aria-pressed={isSplit.value}
        onClick={() => {
          isSplit.value = !isSplit.value
        }}
      >
        Side by side
      </button>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable area must be reachable by keyboard */}
      <div class="scroll" tabIndex={0} title={label}>
        <table class={isSplit.value ? 'split' : 'unified'}>
          <tbody>
            {isSplit.value
              ? pairs(shown).map(([left, right], at) => (
                  <tr key={at}>
                    <Cell line={left} language={language} />
                    <Cell line={right} language={language} />
                  </tr>
                ))
              : shown.map((line, at) => (
                  <tr key={at}>
                    <Cell line={line} language={language} />
                  </tr>
                ))}
          </tbody>
        </table>
      </div>
      {lines.length > maxLines && <p class="quiet">{lines.length - maxLines} more lines are not shown.</p>}
    </div>
  )
}

/** A line as it is shown; a long line is cut after its beginning. */
function shortened(line: string): string {
  const left = line.length - maxLineChars
  const shown = safeText(left > 0 ? line.slice(0, maxLineChars) : line.replace(/\r$/, ''))
  return left > 0 ? `${shown}… (${left.toLocaleString()} more characters)` : shown
}

function Cell({
  line,
  language,
}: {
  readonly line: string | undefined
  readonly language: string | undefined
}): JSX.Element {
  if (line === undefined) return <td class="absent" />
  const kind = kindOf(line)
  if (kind === 'hunk' || kind === 'file') return <td class={kind}>{line}</td>
  return (
    <td class={kind}>
      {line.slice(0, 1)}
      {highlighted(line.slice(1), language)}
    </td>
  )
}

function kindOf(line: string): string {
  if (line.startsWith('@@')) return 'hunk'
  if (line.startsWith('+++') || line.startsWith('---')) return 'file'
  if (line.startsWith('+')) return 'added'
  return line.startsWith('-') ? 'removed' : 'same'
}

/** The lines of both versions, row by row: removed lines opposite to the added ones that follow them. */
function pairs(lines: readonly string[]): [string | undefined, string | undefined][] {
  const rows: [string | undefined, string | undefined][] = []
  let [removed, added]: [string[], string[]] = [[], []]
  const flush = (): void => {
    for (let at = 0; at < Math.max(removed.length, added.length); at++) rows.push([removed[at], added[at]])
    removed = []
    added = []
  }
  for (const line of lines) {
    const kind = kindOf(line)
    if (kind === 'removed') removed.push(line)
    else if (kind === 'added') added.push(line)
    else {
      flush()
      rows.push([line, line])
    }
  }
  flush()
  return rows
}
