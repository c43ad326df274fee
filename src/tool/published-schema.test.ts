import { describe, expect, it } from 'vitest'
import { builtInTool } from './create-json-tool.js'
import { publishedSchema } from './published-schema.js'

describe('the schema of a built-in tool that models read', () => {
  const parameters = {
    type: 'object',
    properties: {
      // An argument may be called like a keyword of schemas.
      pattern: { type: 'string', minLength: 1, description: 'What to find' },
      count: { type: 'integer', minimum: 1, maximum: 9 },
      list: { type: 'array', minItems: 1, items: { type: 'string', pattern: '\\S' } },
      '-i': { type: 'boolean' },
    },
    required: ['pattern'],
    additionalProperties: false,
  }

  it('has names, types, choices and descriptions, without bounds and unlisted arguments', () => {
    expect(publishedSchema(parameters, ['-i'])).toEqual({
      type: 'object',
      properties: {
        pattern: { type: 'string', description: 'What to find' },
        count: { type: 'integer', maximum: 9 },
        list: { type: 'array', items: { type: 'string' } },
      },
      required: ['pattern'],
    })
  })

  it('is in the definition of the tool, while the whole schema checks every call', async () => {
    const tool = builtInTool({
      name: 'find',
      description: 'Find.',
      parameters,
      unlisted: ['-i'],
      execute: (args) => Object.keys(args).join(' '),
    })
    expect(tool.parameters).toEqual(parameters)
    expect(tool.definition().parameters).toEqual(publishedSchema(parameters, ['-i']))
    expect(await tool.call({ pattern: 'a', '-i': true })).toBe('pattern -i')
    await expect(tool.call({ pattern: '' })).rejects.toMatchObject({ name: 'ToolInputError' })
    await expect(tool.call({ pattern: 'a', other: 1 })).rejects.toMatchObject({ name: 'ToolInputError' })
  })
})
