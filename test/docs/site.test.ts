import { describe, expect, it } from 'vitest'
import { sidebar } from '../../site/sidebar.mjs'
import { listFiles } from '../house/source-tree.js'

describe('the sidebar of the site', () => {
  const pages = listFiles('docs', /\.md$/).map((path) => path.replace(/^docs\/|\.md$/g, ''))
  const linked = sidebar.flatMap(({ items }) => items.map(({ link }) => link.slice(1) || 'README'))

  it('has every page once', () => {
    expect(linked.toSorted()).toEqual(pages.toSorted())
  })

  it('has no text twice in one section', () => {
    for (const { text, items } of sidebar)
      expect(new Set(items.map((item) => item.text)).size, text).toBe(items.length)
  })
})
