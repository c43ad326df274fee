import { existsSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { layers } from '../house/layers.js'

it('the page about the architecture has every folder in its layer', () => {
  const page = readFileSync('docs/design/architecture.md', 'utf8')
  const shown = [...page.matchAll(/^\| ([\d.]+) \| ([^|]+) \|/gm)].flatMap(([, layer, folders = '']) =>
    [...folders.matchAll(/`([\w-]+)\/`/g)].map(([, folder = '']): [string, number] => [
      folder,
      Number(layer),
    ]),
  )
  const built = Object.entries(layers).filter(([folder]) => existsSync(`src/${folder}`))
  expect(new Map(shown)).toEqual(new Map(built))
})
