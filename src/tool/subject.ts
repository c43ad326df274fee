/**
 * A command as a tool knows it: text for a shell to read, or an argument vector that no shell will read. `cwd` is where it will
 * run, from the workspace root; absent: the root itself.
 */
export type ShellCommand = { readonly cwd?: string } & (
  | { readonly text: string }
  | { readonly argv: readonly string[] }
)

/** One thing that a call touches. Capabilities and rules judge a call subject by subject. */
export type Subject =
  | { readonly fs: 'read' | 'write'; readonly path: string }
  | { readonly net: string }
  | { readonly shell: ShellCommand }
  | { readonly capability: string }
