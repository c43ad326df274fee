import { describe, expect, it } from 'vitest'
import { AssistantContent, Message, ToolContent, Usage, UserContent } from './message.js'

describe('the functions that create messages', () => {
  it('create messages of every role, from text or from parts', () => {
    const history: Message[] = [
      Message.system('be brief'),
      Message.user('hi'),
      Message.user([UserContent.text('see'), UserContent.imageBase64('AAAA', 'image/png')]),
      Message.assistant(
        [AssistantContent.reasoning('hm', 'r1'), AssistantContent.toolCall('c1', 'add', { a: 1 }, 'x1')],
        'm1',
      ),
      Message.tool(ToolContent.toolResult('c1', '3', 'x1')),
      Message.toolResult('c2', { sum: 3 }, { toolName: 'add' }),
      Message.assistant('3'),
    ]
    expect(history).toEqual([
      { role: 'system', content: 'be brief' },
      { role: 'user', content: [{ type: 'text', text: 'hi' }] },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'see' },
          { type: 'image', data: 'AAAA', mediaType: 'image/png' },
        ],
      },
      {
        role: 'assistant',
        id: 'm1',
        content: [
          { type: 'reasoning', text: 'hm', id: 'r1' },
          { type: 'tool_call', id: 'c1', callId: 'x1', function: { name: 'add', arguments: { a: 1 } } },
        ],
      },
      {
        role: 'tool',
        content: [{ type: 'tool_result', id: 'c1', callId: 'x1', content: [{ type: 'text', text: '3' }] }],
      },
      {
        role: 'tool',
        content: [
          { type: 'tool_result', id: 'c2', toolName: 'add', content: [{ type: 'text', text: '{"sum":3}' }] },
        ],
      },
      { role: 'assistant', content: [{ type: 'text', text: '3' }] },
    ])
  })

  it('create documents from a URL, base64 or text', () => {
    expect([
      UserContent.documentUrl('https://x.test/a.pdf', 'application/pdf', { filename: 'a.pdf' }),
      UserContent.documentBase64('AAAA', 'application/pdf'),
      UserContent.documentText('words'),
    ]).toEqual([
      { type: 'document', data: 'https://x.test/a.pdf', mediaType: 'application/pdf', name: 'a.pdf' },
      { type: 'document', data: 'AAAA', mediaType: 'application/pdf' },
      { type: 'text', text: 'words' },
    ])
  })

  it('keep text and images of a result unchanged', () => {
    const content = [{ type: 'image' as const, data: 'AAAA' }]
    expect(Message.toolResult('c', content).content[0]?.content).toBe(content)
  })

  it('add usages, and leave a count undefined that is missing on both sides', () => {
    expect(
      Usage.add(Usage.empty(), { inputTokens: 1, outputTokens: 2, totalTokens: 3, cachedInputTokens: 1 }),
    ).toEqual({
      inputTokens: 1,
      outputTokens: 2,
      totalTokens: 3,
      cachedInputTokens: 1,
    })
  })
})
