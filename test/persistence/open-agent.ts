import { Agent } from '../../src/agent/agent.js'
import { makeWorkspace, whenDone } from '../contract/open-session.js'

export type AgentPlace = {
  /** Holds the workspace, the user's directory and what the test stores. */
  readonly base: string
  readonly work: string
  readonly agent: Agent
}

/** Opens an agent next to a workspace with these files, and closes it after the test. For tests and `beforeEach`. */
export async function openAgentPlace(files: Readonly<Record<string, string>> = {}): Promise<AgentPlace> {
  const { base, root, userDir } = await makeWorkspace(files)
  const agent = await Agent.create({}, { userDir })
  whenDone(() => agent.close())
  return { base, work: root, agent }
}
