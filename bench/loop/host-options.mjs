// A session as a careful host opens it.

/**
 * What hosts turn on: rules, a hook, a reader of the events. Runs and their events are kept as by default.
 * @type {import('capstan').SessionOptions}
 */
export const hostOptions = {
  permissionPolicy: {
    deny: ['write(**/.env*)', 'read(**/.ssh/**)'],
    ask: ['bash(git push*)'],
    allow: ['read(*)', 'bash(npm run build*)'],
  },
  hooks: [{ id: 'watch', event: 'pre_tool_use', handler: () => undefined }],
}
