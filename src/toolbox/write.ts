import { builtInTool } from '../tool/create-json-tool.js'
import { outputEnvelope } from '../tool/envelope.js'
import { objectSchema } from '../tool/object-schema.js'
import { countLines } from './line-endings.js'
import { pathText } from './path-text.js'
import { requireService } from './require-service.js'

export type WriteArgs = { file_path: string; content: string }

/** Creates a file, or replaces its whole content. */
export const writeTool = builtInTool<WriteArgs>({
  name: 'write',
  description:
    'Create a file or replace its whole content; missing directories are made. To change a part use edit or patch.',
  kind: 'edit',
  requires: { fs: { write: ['{workspace}/**'] } },
  parameters: objectSchema({
    file_path: { type: 'string' },
    content: { type: 'string' },
  }),
  touches: ({ file_path }) => [{ fs: 'write', path: file_path }],
  async execute({ file_path, content }, context) {
    const { bytes, created } = await requireService(context, 'files').write(file_path, content)
    const lines = countLines(content)
    return outputEnvelope(
      `Wrote ${bytes} bytes (${lines} lines) to ${pathText(file_path)} (${created ? 'created' : 'replaced'})`,
      { file_path, created, bytes, lines },
    )
  },
})
