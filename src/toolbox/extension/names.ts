/** The names of the extension tools, apart from the tools: the configuration knows them without loading any. */
export const extensionToolNames = ['repo_overview', 'repo_clone', 'apply_patch', 'plan', 'plan_exit'] as const

export type ExtensionToolName = (typeof extensionToolNames)[number]
