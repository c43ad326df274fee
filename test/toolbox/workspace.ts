import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { AnyGovernedTool, ToolCallContext } from '../../src/tool/contract.js'
import type { Envelope } from '../../src/tool/envelope.js'
import type { ToolRuntime } from '../../src/tool/runtime.js'
import {
  openWorkspace,
  type WorkspaceOptions,
  type WorkspacePermit,
} from '../../src/workspace/open-workspace.js'
import { temporaryDirectory } from '../support/temporary-directory.js'

export type ToolboxWorkspace = {
  /** The real path of the workspace's directory. */
  readonly root: string
  readonly runtime: ToolRuntime
  /** Runs a tool as a host without rules would. */
  call(tool: AnyGovernedTool, args: unknown, context?: ToolCallContext): Promise<Envelope>
  close(): Promise<void>
}

/** Files by their path from the root: text, or bytes. */
export type WorkspaceFiles = Readonly<Record<string, string | Uint8Array>>
export type ToolboxWorkspaceOptions = Omit<Partial<WorkspaceOptions>, 'root'> & {
  readonly permit?: Partial<WorkspacePermit>
}

/**
 * Opens a real workspace in a directory of its own, with these files in it, and closes it after the test. For tests and
 * `beforeEach`. Commands are not confined unless the options say so.
 */
export async function toolboxWorkspace(
  files: WorkspaceFiles = {},
  { permit, ...options }: ToolboxWorkspaceOptions = {},
): Promise<ToolboxWorkspace> {
  const base = temporaryDirectory()
  const root = join(base, 'work')
  mkdirSync(root)
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), content)
  }
  const workspace = openWorkspace({
    root,
    sandbox: 'off',
    scratchDir: join(base, 'scratch'),
    ...options,
  })
  const ended = new AbortController()
  const runtime = workspace.runtimeFor({ ...everything, ...permit }, ended.signal)
  const close = async () => {
    ended.abort()
    await workspace.close()
  }
  onTestFinished(close)
  return {
    root,
    runtime,
    call: (tool, args, context = {}) => tool.execute(args, { runtime, ...context }),
    close,
  }
}

const everything: WorkspacePermit = {
  path: () => undefined,
  host: () => undefined,
  command: () => undefined,
  grantsCommand: () => true,
}
