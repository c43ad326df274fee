import { symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { loadAgentDir } from '../../src/agent/dir/load-agent-dir.js'
import type { AgentDirError } from '../../src/index.js'
import { directoryWith } from './support.js'

const githubTool = `---
kind: mcp
name: github
transport: stdio
command: npx
args: ["-y", "@modelcontextprotocol/server-github"]
env:
  GITHUB_TOKEN: "\${GITHUB_TOKEN}"
---
GitHub issues and pull request tools.
`
const searchTool = `---
kind: script
name: search-auth
path: scripts/search-auth.js
allowed_tools: [grep, glob, read]
limits:
  timeoutMs: 30000
  maxToolCalls: 30
  maxOutputBytes: 65536
---
Find authentication-related files and return an evidence list.
`
const daily = `---
cron: "0 9 * * 1-5"
time_zone: Europe/Berlin
---
Summarise what changed since yesterday.
`
const whole = {
  'instructions.md': '\n# Release agent\n\nYou prepare releases.\n\n',
  'agent.acl': 'max_tool_rounds = 12\nproviders "openai" { api_key = env("KEY")  models "m" {} }\n',
  'skills/notes/SKILL.md': '---\nname: notes\ndescription: Release notes\n---\nWrite them.\n',
  'schedules/daily.md': daily,
  'tools/github.md': githubTool,
  'tools/search-auth.md': searchTool,
}
const env = { GITHUB_TOKEN: 'ghp_secret_value', KEY: 'sk-secret-value' }
const script = { 'scripts/search-auth.js': 'async function run(ctx, inputs) { return {} }' }

/** Each problem as `file:line: message`. */
async function problemsOf(
  files: Readonly<Record<string, string>>,
  more: Parameters<typeof loadAgentDir>[1] = {},
): Promise<string[]> {
  const dir = await directoryWith({ 'instructions.md': 'You help.', ...files })
  const error = await loadAgentDir(dir, { env, ...more }).then(
    () => undefined,
    (thrown: AgentDirError) => thrown,
  )
  if (error !== undefined) expect(error).toMatchObject({ code: 'agent_dir_invalid' })
  return (error?.problems ?? []).map(({ file, line, message }) => `${file}:${line}: ${message}`)
}

describe('loadAgentDir', () => {
  it('reads a whole directory, and shows no secret of it', async () => {
    const dir = await directoryWith(whole)
    const workspace = await directoryWith(script)
    const loaded = await loadAgentDir(dir, { env, workspace })
    expect(loaded).toMatchObject({
      path: dir,
      instructions: '# Release agent\n\nYou prepare releases.',
      skills: ['notes'],
      config: { maxToolRounds: 12 },
      schedules: [
        {
          name: 'daily',
          file: 'schedules/daily.md',
          enabled: true,
          cron: '0 9 * * 1-5',
          timeZone: 'Europe/Berlin',
          overlap: 'skip',
          catchUp: 'none',
          jitterMs: 0,
          prompt: 'Summarise what changed since yesterday.',
        },
      ],
      tools: [
        {
          kind: 'mcp',
          name: 'github',
          transport: 'stdio',
          description: 'GitHub issues and pull request tools.',
        },
        {
          kind: 'script',
          name: 'search-auth',
          path: 'scripts/search-auth.js',
          allowedTools: ['grep', 'glob', 'read'],
          limits: { timeoutMs: 30_000, maxToolCalls: 30, maxOutputBytes: 65_536 },
        },
      ],
    })
    expect(JSON.stringify(loaded)).not.toMatch(/ghp_secret_value|sk-secret-value/)
  })

  it('needs nothing but instructions', async () => {
    const dir = await directoryWith({ 'instructions.md': 'You help.' })
    expect(await loadAgentDir(dir)).toMatchObject({ schedules: [], tools: [], skills: [], warnings: [] })
  })

  it('reports all errors at once, by file and line', async () => {
    const dir = await directoryWith({
      'agent.acl': 'max_tool_rounds = "many"\n',
      'schedules/bad.md': '---\ncron: "61 * * * *"\n---\nGo.',
      'skills/broken/SKILL.md': '---\nname: [\n---\nx',
      'tools/odd.md': '---\nkind: docker\n---\nx',
      'tools/bare.md': 'No fields at all.',
    })
    const thrown = loadAgentDir(dir, { env })
    await expect(thrown).rejects.toMatchObject({
      problems: [
        { file: 'agent.acl', line: 1 },
        { file: 'instructions.md', line: 1 },
        { file: 'schedules/bad.md', line: 2 },
        { file: 'skills/broken/SKILL.md', line: 2 },
        { file: 'tools/bare.md', line: 1 },
        { file: 'tools/odd.md', line: 2 },
      ],
    })
    await expect(thrown).rejects.toThrow(
      /cannot be used:\n- agent\.acl:1: max_tool_rounds must be a positive whole number/,
    )
  })

  it('reports that there is no directory', async () => {
    await expect(loadAgentDir('/nowhere/at/all')).rejects.toThrow(
      /- \.:1: the directory does not exist or cannot be read$/,
    )
  })

  it.each<[string, Readonly<Record<string, string>>, string[]]>([
    [
      'an unknown kind',
      { 'tools/a.md': '---\nname: a\nkind: scirpt\n---\nx' },
      ['tools/a.md:3: unknown kind \'scirpt\': did you mean "script"?'],
    ],
    [
      'no kind',
      { 'tools/a.md': '---\nname: a\n---\nx' },
      ['tools/a.md:1: missing kind: use kind: mcp or kind: script'],
    ],
    [
      'missing front matter',
      { 'tools/a.md': 'kind: mcp\n' },
      [
        'tools/a.md:1: missing front matter: start the file with a line of ---, fields, and another line of ---',
      ],
    ],
    [
      'frontmatter without an end',
      { 'schedules/a.md': '---\ncron: "* * * * *"\nGo.' },
      ['schedules/a.md:1: missing front matter: the second line of --- after the fields is missing'],
    ],
    [
      'frontmatter that is not YAML',
      { 'tools/a.md': '---\nkind: mcp\nargs: [a\n---\nx' },
      [expect.stringMatching(/^tools\/a\.md:\d: /) as unknown as string],
    ],
    [
      'a duplicate tool name',
      { 'tools/one.md': githubTool, 'tools/two.md': githubTool },
      ['tools/two.md:3: duplicate tool name: github (also in tools/one.md); rename one'],
    ],
    [
      'two servers whose tools would have the same names',
      {
        'tools/one.md': githubTool.replace('name: github', 'name: git.hub'),
        'tools/two.md': githubTool.replace('name: github', 'name: git hub'),
      },
      [
        'tools/two.md:3: duplicate tool name: the tools of git hub would be called mcp__git_hub__*, like those in tools/one.md; rename one',
      ],
    ],
    [
      'a script with the name of a built-in tool',
      { 'tools/read.md': '---\nkind: script\npath: a.js\n---\nx' },
      ['tools/read.md:1: duplicate tool name: read is the name of another tool of the session; rename it'],
    ],
    [
      'a variable that is not set',
      { 'tools/a.md': githubTool.replace('{GITHUB_TOKEN}', '{NO_TOKEN}') },
      [`tools/a.md:8: env uses \${NO_TOKEN}, which is not set: set the environment variable NO_TOKEN`],
    ],
    [
      'a variable without a name',
      { 'tools/a.md': githubTool.replace('{GITHUB_TOKEN}', '{GITHUB TOKEN}') },
      [`tools/a.md:8: env has "\${" without a variable name: write \${NAME}`],
    ],
    [
      'a variable of agent.acl that is not set',
      { 'agent.acl': 'providers "p" {\n  api_key = env("NO_KEY")\n  models "m" {}\n}\n' },
      ['agent.acl:2: providers.api_key has no value: the environment variable of env() is not set or empty'],
    ],
    [
      'agent.acl that is not an ACL',
      { 'agent.acl': 'default_model = "p/m"\nproviders "p" {\n' },
      [expect.stringMatching(/^agent\.acl:\d: /) as unknown as string],
    ],
    [
      'a server that nothing starts',
      { 'tools/a.md': '---\nkind: mcp\ntransport: stdio\n---\nx' },
      ['tools/a.md:1: mcp.a: "command" is required for the transport "stdio"'],
    ],
    [
      'a transport that is unknown',
      { 'tools/a.md': '---\nkind: mcp\ncommand: x\ntransport: carrier\n---\nx' },
      [expect.stringMatching(/^tools\/a\.md:4: .*transport must be/) as unknown as string],
    ],
    [
      'an address that is none',
      { 'tools/a.md': '---\nkind: mcp\nurl: ftp://x\n---\nx' },
      [expect.stringMatching(/^tools\/a\.md:3: /) as unknown as string],
    ],
    [
      'a variable where none is taken',
      { 'tools/a.md': githubTool.replace('command: npx', `command: "\${HOME}/server"`) },
      [
        `tools/a.md:5: command takes no variable: \${NAME} is replaced only in args, env, url, headers, oauth`,
      ],
    ],
    [
      'a value of a field inside another, by its line',
      {
        'tools/a.md': '---\nkind: mcp\ncommand: x\nenv: { A: [1] }\n---\nx',
        'tools/b.md': '---\nkind: mcp\ncommand: x\nenv:\n  A: "1"\n  B: [1]\n---\nx',
      },
      [
        'tools/a.md:4: mcp.a.env must be a string in quotes, found a list',
        'tools/b.md:6: mcp.b.env must be a string in quotes, found a list',
      ],
    ],
    [
      'a path and a tool that are both wrong',
      { 'tools/a.md': '---\nkind: script\npath: ../x.js\nallowed_tools: [raed]\n---\nx' },
      [
        'tools/a.md:3: path \'../x.js\' escapes the workspace: it must not contain ".."',
        'tools/a.md:4: allowed_tools has an unknown tool \'raed\': did you mean "read"?',
      ],
    ],
    [
      'a field that was meant to be another',
      { 'tools/a.md': searchTool.replace('allowed_tools', 'allowed_tool') },
      ['tools/a.md:5: unknown field "allowed_tool": did you mean "allowed_tools"?'],
    ],
    [
      'invalid limits, each by its line',
      {
        'tools/a.md': searchTool
          .replace('timeoutMs: 30000', 'timeoutMs: 600001')
          .replace('maxToolCalls: 30', 'maxToolCalls: 1001')
          .replace('maxOutputBytes: 65536', 'maxOutputBites: 1'),
      },
      [
        'tools/a.md:7: invalid limits: The limit timeoutMs of a program must be an integer from 1 to 600000, not 600001.',
        'tools/a.md:8: invalid limits: The limit maxToolCalls of a program must be an integer from 0 to 1000, not 1001.',
        'tools/a.md:9: invalid limits: There is no limit "maxOutputBites": the limits of a program are timeoutMs, maxToolCalls, maxOutputBytes.',
      ],
    ],
    [
      'a tool that is not there',
      { 'tools/a.md': searchTool.replace('[grep, glob, read]', '[grep, globb]') },
      [`tools/a.md:5: allowed_tools has an unknown tool 'globb': did you mean "glob"?`],
    ],
    [
      'a program that would call programs',
      { 'tools/a.md': searchTool.replace('[grep, glob, read]', '[program, search-auth]') },
      [
        'tools/a.md:5: allowed_tools has program: a program cannot call a program',
        'tools/a.md:5: allowed_tools has search-auth: a program cannot call a program',
      ],
    ],
    [
      'inputs that are not schema',
      { 'tools/a.md': searchTool.replace('limits:', 'inputs:\n  type: nothing\nlimits:') },
      [expect.stringMatching(/^tools\/a\.md:6: inputs is not a JSON Schema: /) as unknown as string],
    ],
    [
      'a script without a description',
      { 'tools/a.md': '---\nkind: script\npath: a.js\n---\n' },
      [`tools/a.md:1: the tool 'a' has no description: write it after the front matter`],
    ],
    [
      'a script without a path',
      { 'tools/a.md': '---\nkind: script\n---\nx' },
      [`tools/a.md:1: the tool 'a' has no path: add a field such as path: scripts/a.js`],
    ],
    [
      'an invalid cron',
      { 'schedules/a.md': '---\nname: nightly\ncron: "0 25 * * *"\n---\nGo.' },
      [`schedules/a.md:3: schedule 'nightly' has an invalid cron '0 25 * * *': Invalid value for hour: 25`],
    ],
    [
      'a cron of too few fields',
      { 'schedules/a.md': '---\ncron: "* * *"\n---\nGo.' },
      [
        `schedules/a.md:2: schedule 'a' has an invalid cron '* * *': use five fields, or six fields that start with seconds`,
      ],
    ],
    [
      'a day and a month that no calendar has, by the number that was written',
      {
        'schedules/a.md': '---\ncron: "0 0 32 * *"\n---\nGo.',
        'schedules/b.md': '---\ncron: "0 0 1 13 *"\n---\nGo.',
      },
      [
        `schedules/a.md:2: schedule 'a' has an invalid cron '0 0 32 * *': Invalid value for day: 32`,
        `schedules/b.md:2: schedule 'b' has an invalid cron '0 0 1 13 *': Invalid value for month: 13`,
      ],
    ],
    [
      'a day that never comes',
      { 'schedules/a.md': '---\ncron: "0 0 30 2 *"\n---\nGo.' },
      [`schedules/a.md:2: schedule 'a' has an invalid cron '0 0 30 2 *': this day does not exist`],
    ],
    [
      'a date for a cron',
      { 'schedules/a.md': '---\ncron: "2030-01-01T00:00:00"\n---\nGo.' },
      [
        `schedules/a.md:2: schedule 'a' has an invalid cron '2030-01-01T00:00:00': use five or six fields, or a name such as @daily`,
      ],
    ],
    [
      'no cron and no prompt',
      { 'schedules/a.md': '---\nname: a\n---\n' },
      [
        `schedules/a.md:1: schedule 'a' has no prompt after its front matter`,
        `schedules/a.md:1: schedule 'a' has no cron: add a field such as cron: "0 9 * * 1-5", or watch or webhook_secret`,
      ],
    ],
    [
      'a time zone that is not there',
      { 'schedules/a.md': '---\ncron: "@daily"\ntime_zone: Mars/Base\n---\nGo.' },
      [
        `schedules/a.md:3: schedule 'a' has an unknown time zone 'Mars/Base': use a name such as Europe/Berlin or UTC`,
      ],
    ],
    [
      'words and numbers that a schedule does not take',
      {
        'schedules/a.md':
          '---\ncron: "@daily"\noverlap: cancel\ncatch_up: yes\njitter_ms: -1\ntimeout_ms: 1.5\nenabled: maybe\n---\nGo.',
      },
      [
        'schedules/a.md:3: overlap must be "skip" or "queue"',
        'schedules/a.md:4: catch_up must be "none", "last" or "all"',
        'schedules/a.md:5: jitter_ms must be a whole number from 0 to 86400000',
        'schedules/a.md:6: timeout_ms must be a whole number from 1 to 86400000',
        'schedules/a.md:7: enabled must be true or false',
      ],
    ],
    [
      'two enabled schedules of one name',
      {
        'schedules/a.md': daily.replace('cron', 'name: same\ncron'),
        'schedules/b.md': daily.replace('cron', 'name: same\ncron'),
      },
      ['schedules/b.md:1: duplicate enabled schedule name: same (also in schedules/a.md); rename one'],
    ],
    [
      'a name that cannot be the id of a session',
      { 'schedules/a.md': daily.replace('cron', 'name: a/../b\ncron') },
      ['schedules/a.md:2: name must be 1 to 100 letters, digits, ".", "_" and "-"'],
    ],
    [
      'a skill that sessions would take by half',
      { 'skills/a.md': '---\nname: a\nkind: spell\n---\nx' },
      [expect.stringMatching(/^skills\/a\.md:3: kind must be one of/) as unknown as string],
    ],
  ])('rejects %s', async (_, files, expected) => {
    expect(await problemsOf(files)).toEqual(expected)
  })

  it.each([
    ['/etc/passwd.js', /^tools\/a\.md:4: path '\/etc\/passwd\.js' is not relative/],
    ['~/x.js', /is not relative/],
    ['C:/x.js', /is not relative/],
    ['../x.js', /escapes the workspace: it must not contain "\.\."/],
    ['scripts/../../x.js', /escapes the workspace/],
    ['scripts\\..\\x.js', /escapes the workspace/],
    ['scripts/x.sh', /is not a script: it must end in \.js, \.mjs or \.ts/],
  ])('rejects the path %s of a script', async (path, message) => {
    const tool = `---\nkind: script\nname: a\npath: '${path}'\n---\nx`
    expect(await problemsOf({ 'tools/a.md': tool })).toEqual([expect.stringMatching(message)])
  })

  it('checks scripts when it knows the workspace, and follows no link out of it', async () => {
    const workspace = await directoryWith({ 'empty.js': 'let a = 1', ...script })
    const outside = await directoryWith({ 'x.js': 'async function run() {}' })
    await symlink(join(outside, 'x.js'), join(workspace, 'link.js'))
    const tool = (name: string, path: string): Record<string, string> => ({
      [`tools/${name}.md`]: `---\nkind: script\npath: ${path}\n---\nx`,
    })
    const files = { ...tool('a', 'no.js'), ...tool('b', 'link.js'), ...tool('c', 'empty.js') }
    expect(await problemsOf({ ...files, 'tools/d.md': searchTool }, { workspace })).toEqual([
      "tools/a.md:3: path 'no.js' does not exist in the workspace",
      "tools/b.md:3: path 'link.js' escapes the workspace through a symbolic link",
      "tools/c.md:3: path 'empty.js' defines no program: write async function run(ctx, inputs) { ... }",
    ])
  })

  it('reads no file through a link out of the directory', async () => {
    const outside = await directoryWith({ 'tool.md': searchTool })
    const dir = await directoryWith({ 'instructions.md': 'x', 'tools/keep.txt': '' })
    await symlink(join(outside, 'tool.md'), join(dir, 'tools/tool.md'))
    await expect(loadAgentDir(dir, { env })).rejects.toMatchObject({
      problems: [
        { file: 'tools/tool.md', line: 1, message: 'was not read: it is a link that leads out of its place' },
      ],
    })
  })

  it('accepts disabled schedules with names that are in use, and tools that a host names', async () => {
    const files = {
      'schedules/a.md': daily,
      'schedules/b.md': daily.replace('cron', 'name: a\nenabled: false\ncron'),
      'tools/a.md': searchTool.replace('[grep, glob, read]', '[deploy, mcp__github__search]'),
    }
    expect(await problemsOf(files, { toolNames: ['deploy'] })).toEqual([])
    expect(
      await problemsOf(
        { 'tools/deploy.md': searchTool.replace('search-auth', 'deploy') },
        { toolNames: ['deploy'] },
      ),
    ).toEqual([
      'tools/deploy.md:3: duplicate tool name: deploy is the name of another tool of the session; rename it',
    ])
  })

  it('rejects an unknown time zone of the host', async () => {
    const dir = await directoryWith({ 'instructions.md': 'x' })
    await expect(loadAgentDir(dir, { timeZone: 'Here' })).rejects.toThrow(/timeZone must be a name such as/)
  })
})
