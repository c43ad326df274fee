/**
 * What a tool or manifest asks to be able to do. A declaration, never an authority: the grant is what the host, the manifest
 * and the parent leave of it.
 */

/** A glob relative to the workspace root, or one that starts with a variable such as `{workspace}` or `{scratch}`. */
export type PathPattern = string
/** A host name, `*.example.com`, or `*`. */
export type HostPattern = string
/** Any power not covered by paths, hosts and commands, such as `secrets.has`. */
export type CapabilityName = string

/** One argument of a command: this very text, any one argument, or one that starts with the prefix. */
export type ArgPattern = string | { readonly wildcard: true } | { readonly prefix: string }

export type ShellRunRequirement = {
  /** The name of the executable, such as `git`. */
  readonly cmd: string
  /** Patterns for `argv[1..]`, in order and complete: a command with more or fewer arguments does not match. Absent: any. */
  readonly args?: readonly ArgPattern[]
}

export type RequirementSet = {
  readonly fs?: { readonly read?: readonly PathPattern[]; readonly write?: readonly PathPattern[] }
  readonly net?: { readonly hosts?: readonly HostPattern[] }
  readonly shell?: readonly ShellRunRequirement[]
  readonly capabilities?: readonly CapabilityName[]
}
