/**
 * The files of this machine below one directory. This is the default backend: it is equal to the workspace argument.
 *
 * @example
 * agent.session('.', { workspaceBackend: new LocalWorkspaceBackend('/srv/project') })
 */
export class LocalWorkspaceBackend {
  readonly kind = 'local'
  /** The directory that the session works in. */
  readonly root: string

  constructor(root: string) {
    if (typeof root !== 'string' || root === '')
      throw new TypeError('LocalWorkspaceBackend requires a root path.')
    this.root = root
  }
}
