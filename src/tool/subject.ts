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
