export type SessionMachinery = Pick<typeof import('../session/session.js'), 'Session'> &
  Pick<typeof import('../session/check-options.js'), 'checkOptions'> &
  Pick<typeof import('../session/journal/restore.js'), 'load' | 'loadNow' | 'withRestored'> &
  Pick<typeof import('../program/index.js'), 'createProgramMachine' | 'createProgramTool'>

/** Tools, rules, gate and workspace: loaded with the first agent, so that importing the package costs little. */
export async function loadMachinery(): Promise<SessionMachinery> {
  const [{ Session }, { checkOptions }, { load, loadNow, withRestored }, programs] = await Promise.all([
    import('../session/session.js'),
    import('../session/check-options.js'),
    import('../session/journal/restore.js'),
    import('../program/index.js'),
  ])
  const { createProgramMachine, createProgramTool } = programs
  return { Session, checkOptions, load, loadNow, withRestored, createProgramMachine, createProgramTool }
}
