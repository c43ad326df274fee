import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { quoteArgv } from '../../src/authority/quote-argv.js'
import { safeText } from '../../src/cli/terminal/safe-text.js'

/**
 * A button that copies a text as it is shown, with control characters escaped: in a terminal they could end the paste
 * and start a command.
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
      // Browsers offer the clipboard only to pages of this machine and over TLS, and users can deny it.
      said.value = 'The browser does not allow this page to copy.'
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
