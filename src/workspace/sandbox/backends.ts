/** A sandbox for commands: namespaces and mounts, Landlock and a system call filter, or Seatbelt on macOS. */
export type SandboxBackend = 'bubblewrap' | 'landlock' | 'seatbelt'

export const sandboxBackends: readonly SandboxBackend[] = ['bubblewrap', 'landlock', 'seatbelt']

/** Returns the backends of a system, in the order in which they are tried. */
export function backendsOf(platform: string): readonly SandboxBackend[] {
  if (platform === 'linux') return ['bubblewrap', 'landlock']
  return platform === 'darwin' ? ['seatbelt'] : []
}
