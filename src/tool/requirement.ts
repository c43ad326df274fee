/**
 * The access that a tool or manifest requests. A request grants nothing: the grant is the part that the host, the
 * manifest and the parent allow.
 */

/** A glob relative to the workspace root, or one that starts with a variable such as `{workspace}` or `{scratch}`. */
export type PathPattern = string
/** A host name, `*.example.com`, or `*`. */
export type HostPattern = string
/** A permission that paths, hosts and commands do not cover, such as `secrets.has`. */
export type CapabilityName = string

/** One argument of a command: this exact text, any single argument, or an argument that starts with the prefix. */
export type ArgPattern = string | { readonly wildcard: true } | { readonly prefix: string }

/** A command that a tool or manifest requests. */
export type ShellRunRequirement = {
  /** The name of the executable, such as `git`. */
  readonly cmd: string
  /**
   * Patterns for `argv[1..]`, in order and complete: a command with more or fewer arguments does not match. Absent:
   * any arguments.
   */
  readonly args?: readonly ArgPattern[]
}

/** The access that a tool or manifest requests. */
export type RequirementSet = {
  readonly fs?: { readonly read?: readonly PathPattern[]; readonly write?: readonly PathPattern[] }
  readonly net?: { readonly hosts?: readonly HostPattern[] }
  readonly shell?: readonly ShellRunRequirement[]
  readonly capabilities?: readonly CapabilityName[]
}
