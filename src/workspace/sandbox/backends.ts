/** What can confine commands: namespaces and mounts, or Landlock and a system call filter. */
export type SandboxBackend = 'bubblewrap' | 'landlock'

/** In the order in which they are tried. */
export const sandboxBackends: readonly SandboxBackend[] = ['bubblewrap', 'landlock']
