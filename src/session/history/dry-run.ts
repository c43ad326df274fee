import { type FileEdit, previewEdits } from './preview-edits.js'
import { unifiedDiff } from './unified-diff.js'

/** The changes that a call would make to files, as unified diffs, or why it would fail. */
export type DryRun = { readonly diffs: readonly string[] } | { readonly whyNot: string }

/** Runs a file tool without writing its changes, to show what it would do. Undefined for other tools. */
export async function dryRun(toolName: string, args: unknown, root: string): Promise<DryRun | undefined> {
  const preview = await previewEdits(toolName, args, root)
  if (preview === undefined || 'whyNot' in preview) return preview
  return { diffs: await Promise.all(preview.edits.map(diffOf)) }
}

/** Returns the diff of one file, as shown to the user. */
export function diffOf({ path, movedTo, before, after }: FileEdit): Promise<string> {
  const name = movedTo === undefined ? path : `${path} → ${movedTo}`
  const kind = before === undefined ? ' (new)' : after === undefined ? ' (removed)' : ''
  return unifiedDiff(`${name}${kind}`, before ?? '', after ?? '')
}
