/** Explains what a failed command's output says about the limits of its sandbox. */
export function explainRefusals(
  outcome: { readonly exitCode: number | null; readonly output: string },
  {
    hasNetwork,
    mayChangeGit,
    masked = [],
  }: { readonly hasNetwork: boolean; readonly mayChangeGit: boolean; readonly masked?: readonly string[] },
): string[] {
  if (outcome.exitCode === 0) return []
  const found: string[] = []
  if (/read-only file system/i.test(outcome.output)) {
    found.push(
      'A write outside the workspace, or to a protected place inside it, was refused (read-only file system).',
    )
  }
  if (!mayChangeGit && gitRefused.test(outcome.output)) {
    found.push(
      'Git directories are read-only for this command. Run the git commands alone on a line, in the foreground, such as: git add -A && git commit -m "message".',
    )
  }
  if (/device or resource busy|EBUSY/i.test(outcome.output)) {
    found.push(
      'A protected place, such as a .git directory, cannot be renamed or removed (device or resource busy).',
    )
  }
  if (masked.length > 0 && /permission denied|EACCES/i.test(outcome.output)) {
    const named = masked.slice(0, 5).join(', ')
    const more = masked.length > 5 ? ` and ${masked.length - 5} more` : ''
    found.push(`Files that rules keep from being read are hidden from commands: ${named}${more}.`)
  }
  if (!hasNetwork && noNetwork.test(outcome.output)) {
    found.push('There is no network in the sandbox: no host is allowed.')
  }
  return found
}

const noNetwork =
  /could not resolve host|temporary failure in name resolution|network is unreachable|ENETUNREACH|EAI_AGAIN|name or service not known/i

const gitRefused =
  /\.git\/[^\n]*read-only file system|(?:could not lock config file|cannot lock ref|unable to create)[^\n]*read-only file system/i
