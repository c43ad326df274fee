export type SessionModules = Awaited<ReturnType<typeof loadSessionModules>>

/** Loads tools, rules, gate and workspace with the first agent, so that importing the package stays cheap. */
export async function loadSessionModules() {
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
    // Not destructured: each access to a name loads its file, which is only needed for the first program.
    programs,
    childMaker,
    lookUpAgent,
    workerAgent,
  }
}
