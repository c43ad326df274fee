import type { ToolCallContext } from '../tool/contract.js'
import { builtInTool } from '../tool/create-json-tool.js'
import { outputEnvelope } from '../tool/envelope.js'
import { CapstanError, messageOf } from '../tool/errors.js'
import { objectSchema } from '../tool/object-schema.js'
import type { FileChange } from '../tool/runtime.js'
import type { Subject } from '../tool/subject.js'
import { FilesNotChangedError } from '../workspace/files/errors.js'
import { type AppliedHunks, applyHunks } from './apply-hunks.js'
import { changedMeanwhile } from './changed-meanwhile.js'
import { orDescribeMissing } from './nearest-path.js'
import { pathText } from './path-text.js'
import { requireService } from './require-service.js'
import { readTextFile, type TextFile } from './text-file.js'
import { type FilePatch, parseDiff } from './unified-diff.js'

export type PatchArgs = { diff: string; file_path?: string }

/** Applies a unified diff to one or several files, all or nothing. */
export const patchTool = builtInTool<PatchArgs>({
  name: 'patch',
  description:
    'Apply a unified diff to text files: all hunks, or nothing when one does not fit. Paths in ---/+++ lines ' +
    '(/dev/null to create or delete, "rename from"/"rename to"), or file_path for a diff that starts at @@. ' +
    'Context lines must match the file exactly.',
  kind: 'edit',
  requires: { fs: { read: ['{workspace}/**'], write: ['{workspace}/**'] } },
  parameters: objectSchema({
    diff: { type: 'string' },
    'file_path?': { type: 'string', description: 'Wins over names in the diff' },
  }),
  touches: subjectsOf,
  async execute(args, context) {
    const patches = patchesOf(args)
    refuseTwice(patches)
    const plans: Plan[] = []
    for (const patch of patches) plans.push(await planFor(context, patch))
    // Skip files that would not change: a new modification time with the same content would look like a change.
    await changeAll(
      context,
      plans.flatMap(({ change, applied, before }) =>
        change.kind === 'write' && applied.text === before?.text ? [] : [change],
      ),
    )
    return outputEnvelope(plans.map(report).join('\n'), {
      files: plans.map(({ path, patch, applied }) => ({
        path,
        change: patch.change,
        hunks: patch.hunks.length,
        added: applied.added,
        removed: applied.removed,
      })),
    })
  },
})

/**
 * Returns every path of the diff, so that each is judged before the call runs. A diff that cannot be read fails before
 * a user is asked.
 */
function subjectsOf(args: PatchArgs): Subject[] {
  return pathsOf(patchesOf(args)).flatMap((path): Subject[] => [
    { fs: 'read', path },
    { fs: 'write', path },
  ])
}

type NamedPatch = FilePatch & ({ readonly from: string } | { readonly to: string })

/** Returns the patches with their files; `file_path` replaces the names in a diff of one file. */
function patchesOf({ diff, file_path }: PatchArgs): NamedPatch[] {
  const patches = parseDiff(withoutNames(diff, file_path))
  if (file_path === undefined) return patches.map(refuseNameless)
  const [patch] = patches
  if (patch === undefined || patches.length > 1 || patch.change === 'rename')
    throw new CapstanError(
      'patch_arguments',
      `file_path is for a diff of one file, and this one ${patches.length > 1 ? `has ${patches.length}` : 'renames a file'}. Leave file_path out.`,
    )
  const { change, hunks, notes } = patch
  if (change === 'create') return [{ change, hunks, notes, to: file_path }]
  if (change === 'delete') return [{ change, hunks, notes, from: file_path }]
  return [{ change, hunks, notes, from: file_path, to: file_path }]
}

/**
 * Replaces names that `file_path` overrides, so that they are not judged: the two lines before the first hunk can
 * have any content.
 */
function withoutNames(diff: string, file_path: string | undefined): string {
  if (file_path === undefined || !/^--- [^\n]*\n\+\+\+ [^\n]*\n@@/.test(diff)) return diff
  const [from = '', to = ''] = diff.split('\n', 2)
  const side = (line: string): string => (/^(---|\+\+\+) \/dev\/null\s*$/.test(line) ? '/dev/null' : 'file')
  return `--- ${side(from)}\n+++ ${side(to)}\n${diff.slice(from.length + to.length + 2)}`
}

function refuseNameless(patch: FilePatch): NamedPatch {
  const { from, to } = patch
  if (from !== undefined) return { ...patch, from }
  if (to !== undefined) return { ...patch, to }
  throw new CapstanError(
    'patch_arguments',
    'The diff names no file. Give file_path, or put "--- a/<path>" and "+++ b/<path>" before the first @@.',
  )
}

function pathsOf(patches: readonly NamedPatch[]): string[] {
  return [...new Set(patches.flatMap(({ from, to }) => [from, to].filter((path) => path !== undefined)))]
}

/**
 * Refuses two patches of one file: each is computed from the current file, so the second would not include the first.
 */
function refuseTwice(patches: readonly NamedPatch[]): void {
  const seen = new Set<string>()
  for (const { from, to } of patches) {
    for (const path of new Set([from, to].filter((name) => name !== undefined))) {
      if (seen.has(path))
        throw new CapstanError(
          'patch_arguments',
          `The diff names ${pathText(path)} twice. Put all hunks of a file under one header.`,
        )
      seen.add(path)
    }
  }
}

type Plan = {
  readonly path: string
  readonly patch: NamedPatch
  readonly change: FileChange
  readonly applied: AppliedHunks
  readonly before?: TextFile | undefined
}

async function planFor(context: ToolCallContext, patch: NamedPatch): Promise<Plan> {
  const path = patch.from ?? patch.to ?? ''
  if (patch.change === 'create' || patch.change === 'rename') await refuseExisting(context, patch.to ?? path)
  const before = patch.change === 'create' ? undefined : await readBefore(context, path, patch)
  const applied = applyTo(path, before?.text ?? '', patch)
  const after = applied.text
  if (before === undefined) return { path, patch, applied, change: { kind: 'create', path, after } }
  if (patch.change === 'delete') {
    if (after !== '')
      throw new CapstanError(
        'patch_mismatch',
        `Failed to apply patch to ${pathText(path)}: the diff deletes the file but leaves some of its lines. No file was changed.`,
      )
    return { path, patch, applied, before, change: { kind: 'remove', path, before } }
  }
  if (patch.change === 'rename') {
    const to = patch.to ?? path
    const changed = after === before.text ? {} : { after }
    return { path: to, patch, applied, before, change: { kind: 'move', path, to, before, ...changed } }
  }
  return { path, patch, applied, before, change: { kind: 'write', path, after, before } }
}

async function refuseExisting(context: ToolCallContext, path: string): Promise<void> {
  const found = await requireService(context, 'files').stat(path).catch(ifMissing)
  if (found !== undefined)
    throw new CapstanError(
      'file_exists',
      `Failed to apply patch: the diff makes ${pathText(path)}, which exists already. No file was changed. Diff against the file as it is, or choose another name.`,
    )
}

function ifMissing(thrown: unknown): undefined {
  if (thrown instanceof CapstanError && thrown.code === 'file_not_found') return undefined
  throw thrown
}

/** Reads the file before the patch. A diff that only adds lines to an empty file can also create it. */
async function readBefore(
  context: ToolCallContext,
  path: string,
  { change, hunks }: NamedPatch,
): Promise<TextFile | undefined> {
  const reading = readTextFile(requireService(context, 'files'), path)
  if (change !== 'modify' || !hunks.every(({ oldStart, oldCount }) => oldStart === 0 && oldCount === 0))
    return orDescribeMissing(context, path, reading)
  return reading.catch(ifMissing)
}

function applyTo(path: string, text: string, { hunks }: NamedPatch): AppliedHunks {
  try {
    return applyHunks(text, hunks)
  } catch (thrown) {
    if (!(thrown instanceof CapstanError)) throw thrown
    const words = `Failed to apply patch to ${pathText(path)}: ${messageOf(thrown)} No file was changed.`
    throw new CapstanError(thrown.code, words, { cause: thrown })
  }
}

async function changeAll(context: ToolCallContext, changes: readonly FileChange[]): Promise<void> {
  try {
    await requireService(context, 'files').change(changes)
  } catch (thrown) {
    throw thrown instanceof FilesNotChangedError ? failure(thrown) : thrown
  }
}

function failure({ path, cause, done, left }: FilesNotChangedError): CapstanError {
  const why = changedMeanwhile(cause, path)
  const others =
    left.length > 0
      ? `These files were changed before and could not be put back: ${left.map((one) => `${pathText(one.path)} (${one.why})`).join('; ')}.`
      : done > 0
        ? 'What was changed before it was put back, so no file is changed.'
        : 'No file was changed.'
  return new CapstanError(
    why instanceof CapstanError ? why.code : 'patch_write',
    `Failed to apply patch to ${pathText(path)}: ${messageOf(why)} ${others}`,
    { cause: why },
  )
}

function report({ path, patch, change, applied }: Plan): string {
  const { added, removed } = applied
  const what = {
    write: '',
    create: 'created, ',
    remove: 'deleted, ',
    move: `renamed from ${pathText(change.path)}, `,
  }[change.kind]
  const notes = [...applied.notes, ...patch.notes].map((note) => `\n  note: ${note}`)
  return `Applied ${patch.hunks.length} hunk(s) to ${pathText(path)} (${what}+${added} -${removed} lines)${notes.join('')}`
}
