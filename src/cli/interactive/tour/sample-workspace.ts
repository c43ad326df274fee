import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/** A sample project and a user directory in a temporary directory. `close` removes both. */
export type SampleWorkspace = { readonly root: string; readonly userDir: string; close(): Promise<void> }

export async function makeSampleWorkspace(): Promise<SampleWorkspace> {
  const place = await realpath(await mkdtemp(join(tmpdir(), 'capstan-tour-')))
  const root = join(place, 'ship')
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), text)
  }
  return {
    root,
    userDir: join(place, 'user'),
    close: () => rm(place, { recursive: true, force: true }),
  }
}

const files: Readonly<Record<string, string>> = {
  'src/engine.js': "export const speed = 9\nexport const heading = 'north'\n",
  'src/engine.test.js':
    "import { speed } from './engine.js'\nif (speed !== 12) throw new Error('too slow: ' + speed)\nconsole.log('engine: ok')\n",
  'package.json': '{ "name": "ship", "type": "module" }\n',
  'AGENTS.md': 'The ship sails at twelve knots.\n',
  '.env': 'HARBOUR_KEY=do-not-show\n',
}
