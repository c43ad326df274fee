import { describe, expect, it } from 'vitest'
import { parseInlineSkill, parseSkill } from './parse-skill.js'

const origin = { source: 'project', stem: 'the-file' } as const

describe('a skill file', () => {
  it('has the fields of the open format, and additional ones', () => {
    const { skill, problems } = parseSkill(
      [
        '---',
        'name: pdf-processing',
        'description: >-',
        '  Extract text and tables from PDF files,',
        '  fill forms. Use when: PDFs come up.',
        'license: Apache-2.0',
        'compatibility: Requires python3',
        'allowed-tools: Bash(git:*) Read',
        'tags: [pdf, forms]',
        'kind: instruction',
        'version: 1.2',
        'metadata:',
        '  author: An Author',
        'some-other-field: { means: nothing }',
        '---',
        '',
        '# PDF',
        'Do it.',
        '',
      ].join('\n'),
      { ...origin, path: '/s/pdf/SKILL.md', folder: '/s/pdf' },
    )
    expect(problems).toEqual([])
    expect(skill).toEqual({
      name: 'pdf-processing',
      description: 'Extract text and tables from PDF files, fill forms. Use when: PDFs come up.',
      kind: 'instruction',
      tags: ['pdf', 'forms'],
      allowedTools: ['bash(git)', 'bash(git *)', 'read'],
      source: 'project',
      body: '# PDF\nDo it.',
      path: '/s/pdf/SKILL.md',
      folder: '/s/pdf',
      forModels: true,
      license: 'Apache-2.0',
      compatibility: 'Requires python3',
      version: '1.2',
      metadata: { author: 'An Author' },
    })
  })

  it('is named after its file and described by its first words when it has neither', () => {
    const { skill } = parseSkill('# Title\n\nLook at the log first.\nThen mend.', origin)
    expect(skill).toMatchObject({ name: 'the-file', description: 'Look at the log first.', allowedTools: [] })
  })

  it('can be hidden from models', () => {
    expect(parseSkill('---\ndisable-model-invocation: true\n---\nx', origin).skill.forModels).toBe(false)
  })

  it('reports a problem with a field, and continues without it', () => {
    const { skill, problems } = parseSkill(
      '---\nname: Has Blanks\nkind: robot\ntags: { a: b }\ndescription: [1]\nallowed-tools: "bash("\n---\nbody',
      origin,
    )
    expect(skill).toMatchObject({
      name: 'the-file',
      kind: 'instruction',
      tags: [],
      description: 'body',
      allowedTools: [],
    })
    expect(problems).toHaveLength(5)
    expect(problems.map(({ message }) => message).join('\n')).toMatch(/called "the-file" instead/)
  })

  it.each([
    ['without a text', '---\nname: a\n---\n  \n', 'no text below'],
    ['with fields that cannot be read', '---\nname: a\nname: b\n---\nx', 'line 3'],
  ])('is not a skill %s', (_, text, words) => {
    expect(() => parseSkill(text, origin)).toThrow(words)
  })

  it('has no invisible characters', () => {
    const hidden = String.fromCodePoint(0xe0049, 0xe0067)
    const { skill } = parseSkill(`---\ndescription: "a\\u200bb ${hidden}"\n---\nbo\u202edy${hidden}`, origin)
    expect([skill.description, skill.body]).toEqual(['ab', 'body'])
  })
})

describe('a skill of a host', () => {
  it('needs a name and a text', () => {
    const content = 'Always separate blockers from nice-to-have improvements.'
    const { skill } = parseInlineSkill({ name: 'strict-release-review', kind: 'instruction', content })
    expect(skill).toMatchObject({ name: 'strict-release-review', description: content, source: 'inline' })
    expect(() => parseInlineSkill({ name: 'a b', content })).toThrow('a name is 1 to 64')
    expect(() => parseInlineSkill({ name: 'a', content: ' ' })).toThrow('content is empty')
  })
})
