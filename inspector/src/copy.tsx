import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { quoteArgv } from '../../src/authority/quote-argv.js'
import { safeText } from '../../src/cli/terminal/safe-text.js'

/**
 * A button that copies a text as it is shown, with escapes: control characters could end the paste of a terminal and
 * start a command.
 */
export function CopyButton({
  text,
  label,
  isDisabled = false,
  isLink = false,
}: {
  readonly text: () => string
  readonly label: string
  readonly isDisabled?: boolean
  readonly isLink?: boolean
}): JSX.Element {
  const said = useSignal('')
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(safeText(text()))
      said.value = 'Copied.'
    } catch {
      // Browsers have a clipboard for pages of this machine and over TLS alone, and users can forbid it.
      said.value = 'The browser does not let this page copy.'
    }
  }
  return (
    <>
      <button
        type="button"
        class={isLink ? 'link' : undefined}
        disabled={isDisabled}
        onClick={() => void copy()}
      >
        {label}
      </button>
      <span role="status" class="copied">
        {said.value}
      </span>
    </>
  )
}

/** A command for a shell. Operands are never read as options. */
export function commandLine(command: readonly string[], operands: readonly string[]): string {
  const looksLikeOption = operands.some((one) => one.startsWith('-'))
  return quoteArgv([...command, ...(looksLikeOption ? ['--'] : []), ...operands])
}
