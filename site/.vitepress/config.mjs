import { readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { defineConfig } from 'vitepress'
import { sidebar } from '../sidebar.mjs'

const { repository } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
const home = repository.url.replace(/^git\+|\.git$/g, '')

export default defineConfig({
  title: 'Capstan',
  description: 'A TypeScript runtime for agents that act on real machines.',
  srcDir: '../docs',
  outDir: '../.build/site',
  cacheDir: '../.build/site-cache',
  // The site of a repository on GitHub Pages is in a folder: DOCS_BASE=/capstan/ npm run docs.
  base: process.env['DOCS_BASE'] ?? '/',
  cleanUrls: true,
  rewrites: { 'README.md': 'index.md' },
  markdown: {
    languageAlias: { acl: 'hcl', containerfile: 'docker' },
    config: (md) => md.core.ruler.push('repository-links', linkToRepository),
  },
  themeConfig: {
    sidebar,
    outline: [2, 3],
    search: { provider: 'local' },
    socialLinks: [{ icon: 'github', link: home }],
    nav: [
      { text: 'Getting started', link: '/getting-started' },
      { text: 'Command line', link: '/command' },
      { text: 'API reference', link: '/reference' },
    ],
    docFooter: { prev: 'Previous', next: 'Next' },
  },
})

/**
 * Links that leave docs/ (to CONTRIBUTING.md, examples/) lead to the repository.
 * @param {{ tokens: any[], env: { relativePath?: string, realPath?: string } }} state
 */
function linkToRepository({ tokens, env }) {
  const page = env.relativePath === 'index.md' ? 'README.md' : (env.relativePath ?? '')
  for (const token of tokens.flatMap(({ children }) => children ?? [])) {
    const href = token.type === 'link_open' ? token.attrGet('href') : null
    if (href === null || /^([a-z]+:|#|\/)/.test(href)) continue
    const target = posix.normalize(posix.join('docs', posix.dirname(page), href))
    if (!target.startsWith('docs/')) token.attrSet('href', `${home}/blob/main/${target}`)
  }
}
