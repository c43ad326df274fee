import { mkdir, realpath } from 'node:fs/promises'
import type { SandboxNetwork } from '../egress/command-network.js'
import type { Confinement } from '../shell/confinement.js'
import type { Ledger } from '../shell/ledger.js'
import { type UnconfinedOptions, unconfined } from '../shell/unconfined.js'
import { type SandboxBackend, sandboxBackends } from './backends.js'
import { confinementBy, provenSandbox } from './doctor.js'
import { SandboxRootError, SandboxUnavailableError } from './errors.js'
import { checkRoot, hiddenPaths } from './hidden-paths.js'
import { rootOnlyFiles } from './root-only-files.js'

/**
 * `required`: without a sandbox no command runs. The name of a backend: only that sandbox is used. `auto`: a sandbox if
 * there is one, and a notice if there is none.
 */
export type SandboxMode = 'auto' | 'required' | 'off' | SandboxBackend

/** Paths that commands in the sandbox can see and write in addition to the workspace. */
export type SandboxOptions = {
  /** Paths shown read-only although they are in a hidden directory, such as toolchains in a home directory. */
  readonly readOnly?: readonly string[] | undefined
  readonly writable?: readonly string[] | undefined
  /** Paths to hide in addition to home directories, `/run`, `/tmp` and the like. */
  readonly hidden?: readonly string[] | undefined
  /**
   * Returns the session's own scratch directory, once it exists: it is writable, at its real path. Called at the start
   * of each command; a directory that is created later is visible to the next command.
   */
  readonly scratch?: (() => string | undefined) | undefined
  /**
   * The directory of all scratch directories, which is hidden. Created if it is missing, so that it is hidden from the
   * start.
   */
  readonly scratchBase?: string | undefined
  /**
   * Names in the workspace to protect in addition to `protectedNames`: `.git`, `.mcp.json`, `.vscode`, `.npmrc` and the
   * like.
   */
  readonly protect?: readonly { readonly name: string; readonly kind: 'file' | 'directory' }[] | undefined
  /**
   * The path at which commands see the workspace, which is a copy of the directory there. A sandbox without mounts
   * hides that directory instead.
   */
  readonly shownAt?: string | undefined
  /** Uses only this sandbox. Absent: the first of bubblewrap, Landlock and Seatbelt that works on this machine. */
  readonly backend?: SandboxBackend | undefined
  /** The path of bubblewrap, when it is not in one of the usual places. */
  readonly bubblewrap?: string | undefined
  /** Absent: no network at all. */
  readonly network?: SandboxNetwork | undefined
}

export type Choice = UnconfinedOptions & {
  readonly mode: SandboxMode
  /** The directories of the workspace; commands run in the first. */
  readonly roots: readonly [string, ...string[]]
  readonly ledger: Ledger
  readonly directory: string
  readonly options: SandboxOptions
  readonly onNotice?: ((text: string) => void) | undefined
}

/** Decides once per shell how its commands are confined; a command never changes it (SEC-138). */
export async function chooseConfinement(choice: Choice): Promise<Confinement> {
  const { env, path, limits, roots, ledger, directory, options } = choice
  if (choice.mode === 'off') return unconfined({ env, path, limits, asUser: choice.asUser })
  // The ledger lists the processes to kill: a command must neither read nor change it.
  const own = [ledger.directory, ...(await madeBase(options.scratchBase))]
  for (const root of roots) {
    checkRoot(root)
    if (own.includes(root)) throw new SandboxRootError(root, 'Capstan stores its own files there')
  }
  const { bubblewrap } = options
  const named = sandboxBackends.find((backend) => backend === choice.mode)
  const sandbox = await provenSandbox({ backend: named ?? options.backend, bubblewrap })
  if (sandbox.kind !== 'none') {
    const [readOnly, writable] = [await realPaths(options.readOnly), await realPaths(options.writable)]
    const shown = [...roots, ...readOnly, ...writable]
    return confinementBy(sandbox, {
      roots,
      ledger,
      directory,
      hidden: hiddenPaths([...(options.hidden ?? []), ...own, ...(await rootOnlyFiles(shown))]),
      scratch: options.scratch,
      readOnly,
      writable,
      protect: options.protect,
      shownAt: options.shownAt,
      network: options.network,
      env,
      path,
      limits,
    })
  }
  if (choice.mode !== 'auto') throw new SandboxUnavailableError(sandbox.reason, sandbox.advice)
  const notice =
    choice.onNotice ?? ((text: string) => process.emitWarning(text, { code: 'CAPSTAN_NO_SANDBOX' }))
  notice(`Commands run without a sandbox, with all rights of this user: ${sandbox.reason}. ${sandbox.advice}`)
  return unconfined({ env, path, limits })
}

async function madeBase(base: string | undefined): Promise<string[]> {
  if (base === undefined) return []
  // If it cannot be created, there is nothing to hide; a caller that needs a scratch directory gets an error with the
  // reason.
  const made = mkdir(base, { recursive: true, mode: 0o700 }).then(() => realpath(base))
  return made.then(
    (path) => [path],
    () => [],
  )
}

async function realPaths(paths: readonly string[] = []): Promise<string[]> {
  return Promise.all(paths.map((path) => realpath(path)))
}
