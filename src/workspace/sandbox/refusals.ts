/** Returns messages that name the control files that a command tried to create. */
export function explainRefusedPaths(paths: readonly string[], roots: readonly string[]): string[] {
  const shown = (path: string): string => {
    const root = roots.find((one) => path.startsWith(`${one}/`))
    const name = root === undefined ? path : path.slice(root.length + 1)
    return name.replaceAll(/\p{C}/gu, '?')
  }
  const isGit = (path: string): boolean => /(?:^|\/)\.git(?:\/|$)/i.test(path)
  const repositories = paths.filter(isGit).map(shown)
  const others = paths.filter((path) => !isGit(path)).map(shown)
  return [
    ...(repositories.length === 0
      ? []
      : [
          `Git repositories cannot be created or changed by this command, so these were refused: ${listOf(repositories)}. Run git init or git clone alone on a line, in the foreground.`,
        ]),
    ...(others.length === 0
      ? []
      : [
          `Control files, which programs outside the sandbox use, cannot be created by commands, so these were refused: ${listOf(others)}.`,
        ]),
  ]
}

function listOf(names: readonly string[]): string {
  const more = names.length > 5 ? ` and ${names.length - 5} more` : ''
  return `${names.slice(0, 5).join(', ')}${more}`
}

/** Explains which limits of the sandbox appear in the output of a failed command. */
export function explainRefusals(
  outcome: { readonly exitCode: number | null; readonly output: string },
  {
    mayChangeGit,
    masked = [],
    mounts = true,
  }: {
    readonly mayChangeGit: boolean
    readonly masked?: readonly string[]
    /** Whether the sandbox uses mounts: without them, a refused operation has a different error. */
    readonly mounts?: boolean
  },
): string[] {
  if (outcome.exitCode === 0) return []
  const found: string[] = []
  if (/read-only file system/i.test(outcome.output)) {
    found.push(
      'A write outside the workspace, or to a protected place inside it, was refused (read-only file system).',
    )
  }
  if (!mounts && /permission denied|EACCES/i.test(outcome.output)) {
    found.push(
      'A write outside the workspace and TMPDIR, or a read of a place that is hidden from commands, was refused (permission denied).',
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
    found.push(`Files that rules deny reading are hidden from commands: ${listOf(masked)}.`)
  }
  return found
}

/** Explains a failed command that had no network, when its output shows that it needed one. */
export function explainNoNetwork(outcome: {
  readonly exitCode: number | null
  readonly output: string
}): string[] {
  if (outcome.exitCode === 0 || !noNetwork.test(outcome.output)) return []
  return ['There is no network in the sandbox: no host is allowed.']
}

const noNetwork =
  /could not resolve host|temporary failure in name resolution|network is unreachable|ENETUNREACH|EAI_AGAIN|name or service not known|EAFNOSUPPORT|address family not supported/i

const gitRefused =
  /\.git\/[^\n]*(?:read-only file system|operation not permitted)|(?:could not lock config file|cannot lock ref|unable to create)[^\n]*(?:read-only file system|operation not permitted)/i
