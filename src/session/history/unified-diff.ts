/**
 * Returns a unified diff of one file: its name, then the hunks. Texts that take too long to compare are shown one after
 * the other.
 */
export async function unifiedDiff(name: string, before: string, after: string): Promise<string> {
  const { createPatch } = await import('diff')
  const title = name.replaceAll('\n', '\\n')
  const patch = createPatch('file', before, after, '', '', { context: 3, timeout: maxDiffMs })
  if (patch === undefined) return [title, ...marked('-', before), ...marked('+', after)].join('\n')
  const [, , , , ...hunks] = patch.split('\n')
  return [title, ...hunks].join('\n').trimEnd()
}

const maxDiffMs = 1_000

function marked(sign: '-' | '+', text: string): string[] {
  return text === ''
    ? []
    : text
        .replace(/\n$/, '')
        .split('\n')
        .map((line) => sign + line)
}
