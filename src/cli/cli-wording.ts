/**
 * What sessions say, in the words of the command: options of sessions are named by the flags that stand for them. For what people read;
 * models read it as it was.
 */
export function toCliWording(text: string): string {
  return replacements.reduce((said, [theirs, ours]) => said.replace(theirs, ours), text)
}

const replacements: readonly (readonly [RegExp, string])[] = [
  // It stands at the end of nearly every reason to ask.
  [/, and what no rule covers is asked about \(permissionPolicy\.defaultDecision\)/g, ''],
  [
    /To change that, extend `fs\.(?:read|write)` in the `requires` of [^.]*\./g,
    'A session works in its directory alone; -C DIR works in another.',
  ],
  [/\bpermissionPolicy\.(allow|deny|ask)\b/g, '--$1'],
  [
    /(came with the workspace and was not confirmed: its rules only hold back\.)$/,
    '$1 Read it, and confirm it with "capstan rules confirm".',
  ],
  [/See mcpFile\(\) and confirmMcpFile\(\)\./g, 'Read it, and confirm it with "capstan rules confirm".'],
  [/\bmaxToolRounds\b/g, '--max-rounds'],
  [/\bmaxExecutionTimeMs\b/g, '--timeout'],
]
