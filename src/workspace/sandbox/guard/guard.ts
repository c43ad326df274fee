/** The guard for this processor; undefined where it is not written for it. */
export async function guardProgram(arch: string = process.arch): Promise<Buffer | undefined> {
  const { binaries } = await import('./binaries.js')
  const binary = Object.entries(binaries).find(([name]) => name === arch)?.[1]
  return binary === undefined ? undefined : Buffer.from(binary.base64, 'base64')
}

/** What a command can neither make nor write to. Directories are real paths that exist inside the sandbox. */
export type GuardRules = {
  /** Names that are protected in one directory, with everything below them. */
  readonly names: readonly { readonly directory: string; readonly name: string }[]
  /** Directories below which `.git` is protected everywhere. */
  readonly gitRoots: readonly string[]
}

/** The words that start a program under the guard. */
export function underGuard(
  argv: readonly string[],
  { names, gitRoots }: GuardRules,
  { program, report }: { readonly program: string; readonly report?: number | undefined },
): string[] {
  return [
    program,
    ...(report === undefined ? [] : ['--report', String(report)]),
    ...gitRoots.flatMap((root) => ['--git', root]),
    ...names.flatMap(({ directory, name }) => ['--name', directory, name]),
    '--',
    ...argv,
  ]
}

/** Reads the report of a guard: the paths that it refused. */
export function refusedPaths(report: string): string[] {
  return [...new Set(report.split('\0').slice(0, -1))]
}
