import { keyedProviders } from '../setup/known-models.js'

/** A file that `capstan init` writes, with its path in the directory. */
export type Template = { readonly path: string; readonly text: string; readonly executable?: true }

const [example] = keyedProviders

export const configTemplate: Template = {
  path: 'capstan.acl',
  text: `# The Capstan configuration of this directory. All fields are described in docs/configuration.md of the package.
# After each change, confirm the file with "capstan trust". Until then it has no effect.

# The default model, as provider/model. Without it: a model for an API key in the environment, or of a server on this machine.
# default_model = "${example.provider}/${example.model}"

# providers "${example.provider}" {
#   api_key = env("${example.variables[0]}")   # never the key itself
#   models "${example.model}" {
#     limit = { context = 200000 }
#     cost  = { input = 3, output = 15 } # US dollars per million tokens, for --budget 0.50usd
#   }
# }

# Your own model server with chat completions:
# providers "local" {
#   base_url = "http://127.0.0.1:11434/v1"
#   models "qwen3" { limit = { context = 32768 } }
# }

# The maximum number of rounds of tool calls in a run.
# max_tool_rounds = 50

# Where sessions are stored (default: ~/.capstan/sessions).
# storage_backend = "file"
# sessions_dir    = "./.capstan/sessions"

# An MCP server. Its command is started on this machine.
# mcp_servers "docs" {
#   command = "npx"
#   args    = ["-y", "some-mcp-server"]
# }
`,
}

export const instructionsTemplate: Template = {
  path: 'AGENTS.md',
  text: `# For agents that work here

Describe in a few lines:

- what this project is,
- how to build and test it,
- what must not be changed.
`,
}

export const agentDirTemplates: readonly Template[] = [
  {
    path: 'agents/example/instructions.md',
    text: `You maintain this project. Be brief, and list the files that you read.
`,
  },
  {
    path: 'agents/example/schedules/morning.md',
    text: `---
name: morning
cron: "0 9 * * 1-5"
enabled: true
---
Look for TODO comments in this project and list the three that matter most, each with its file and line.
`,
  },
  {
    path: 'agents/example/tools/find-todos.md',
    text: `---
kind: script
name: find-todos
path: agents/example/scripts/find-todos.js
allowed_tools: [grep]
limits:
  timeoutMs: 30000
  maxToolCalls: 5
---
Find every TODO comment of the project, with file and line.
`,
  },
  {
    path: 'agents/example/scripts/find-todos.js',
    text: `// Runs in a sandbox. It can only use the tools that its file in tools/ allows.
async function run(ctx, inputs) {
  return await ctx.grep('TODO', inputs)
}
`,
  },
]
