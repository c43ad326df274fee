/**
 * A command of a tool: text for a shell, or an argument vector that no shell reads. `cwd` is its working directory,
 * relative to the workspace root; absent: the root.
 */
export type ShellCommand = { readonly cwd?: string } & (
  | { readonly text: string }
  | { readonly argv: readonly string[] }
)

/** One thing that a call touches. Capabilities and rules judge each subject of a call. */
export type Subject =
  | { readonly fs: 'read' | 'write'; readonly path: string }
  | { readonly net: string }
  | { readonly shell: ShellCommand }
  | { readonly capability: string }

/**
 * Returns a frozen copy: it does not change when a tool changes the arguments or the list that its subjects came from,
 * and no reader can change it.
 */
export function copySubject(subject: Subject): Subject {
  if ('fs' in subject) return Object.freeze({ fs: subject.fs, path: subject.path })
  if ('net' in subject) return Object.freeze({ net: subject.net })
  if (!('shell' in subject)) return Object.freeze({ capability: subject.capability })
  const { shell } = subject
  const place = shell.cwd === undefined ? {} : { cwd: shell.cwd }
  const command: ShellCommand =
    'text' in shell ? { text: shell.text, ...place } : { argv: Object.freeze([...shell.argv]), ...place }
  return Object.freeze({ shell: Object.freeze(command) })
}
