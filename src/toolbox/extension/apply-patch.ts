import { builtInTool } from '../../tool/create-json-tool.js'
import { CapstanError } from '../../tool/errors.js'
import { objectSchema } from '../../tool/object-schema.js'
import { type PatchArgs, patchTool } from '../patch.js'

export type ApplyPatchArgs = { patch?: string; diff?: string }

/** The tool `patch` under the name that other coding agents use. */
export const applyPatchTool = builtInTool<ApplyPatchArgs>({
  name: 'apply_patch',
  description:
    'Apply a unified diff to any number of text files: all of it, or nothing when one hunk does not fit. Name files by ' +
    '--- a/<path> and +++ b/<path> lines from the workspace root; /dev/null creates or deletes.',
  kind: 'edit',
  requires: patchTool.requires,
  parameters: objectSchema({
    'patch?': { type: 'string' },
    'diff?': { type: 'string', description: 'Instead of patch' },
  }),
  touches: (args) => patchTool.touches(patchArgs(args)),
  execute: (args, context) => patchTool.execute(patchArgs(args), context),
})

function patchArgs({ patch, diff }: ApplyPatchArgs): PatchArgs {
  const text = patch ?? diff
  if (text === undefined || (patch !== undefined && diff !== undefined))
    throw new CapstanError('patch_arguments', 'Give the unified diff as patch.')
  if (/^\s*\*\*\* Begin Patch/.test(text))
    throw new CapstanError(
      'patch_arguments',
      'This is not a unified diff. Write --- a/<path>, +++ b/<path> and @@ -<line>,<count> +<line>,<count> @@ lines.',
    )
  return { diff: text }
}
