export type SessionModules = Pick<typeof import('../session/session.js'), 'Session'> &
  Pick<typeof import('../session/check-options.js'), 'checkOptions'> &
  Pick<typeof import('../session/journal/restore.js'), 'load' | 'loadNow' | 'withRestored'> &
  Pick<typeof import('./child-session.js'), 'childMaker'> & {
    /**
     * Not destructured when loading: each access to a name loads its file, which is only needed for the first program.
     */
    readonly programs: Pick<
      typeof import('../program/index.js'),
      'createProgramMachine' | 'createProgramTool'
    >
  } & Pick<typeof import('./files/look-up-agent.js'), 'lookUpAgent'> &
  Pick<typeof import('../subagents/files/worker-spec.js'), 'workerAgent'>

/** Loads tools, rules, gate and workspace with the first agent, so that importing the package stays cheap. */
export async function loadSessionModules(): Promise<SessionModules> {
  const [{ Session }, { checkOptions }, { load, loadNow, withRestored }, programs, children, ...agents] =
    await Promise.all([
      import('../session/session.js'),
      import('../session/check-options.js'),
      import('../session/journal/restore.js'),
      import('../program/index.js'),
      import('./child-session.js'),
      import('./files/look-up-agent.js'),
      import('../subagents/files/worker-spec.js'),
    ])
  const { childMaker } = children
  const [{ lookUpAgent }, { workerAgent }] = agents
  return {
    Session,
    checkOptions,
    load,
    loadNow,
    withRestored,
    programs,
    childMaker,
    lookUpAgent,
    workerAgent,
  }
}
