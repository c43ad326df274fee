/**
 * The names of the extension tools, in a separate file so that the configuration can check them without loading the
 * tools.
 */
export const extensionToolNames = ['repo_overview', 'repo_clone', 'apply_patch', 'plan', 'plan_exit'] as const

export type ExtensionToolName = (typeof extensionToolNames)[number]
