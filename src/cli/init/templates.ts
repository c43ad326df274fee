import { keyedProviders } from '../setup/known-models.js'

/** What `capstan init` writes: paths from the directory, and texts. */
export type Template = { readonly path: string; readonly text: string; readonly executable?: true }

const [example] = keyedProviders

export const configTemplate: Template = {
  path: 'capstan.acl',
  text: `# The configuration of capstan in this directory. Every field is in docs/configuration.md of the package.
# It is used once it is confirmed ("capstan trust"); after each change it is to be confirmed again.

# The model to ask, as provider/model. Without it: a key in the environment, a server on this machine, or the offline model.
# default_model = "${example.provider}/${example.model}"

# providers "${example.provider}" {
#   api_key = env("${example.variables[0]}")   # never the key itself
#   models "${example.model}" {
#     limit = { context = 200000 }
#     cost  = { input = 3, output = 15 } # US dollars for a million tokens: what --budget 0.50usd counts with
#   }
# }

# A server of your own that speaks chat completions:
# providers "local" {
#   base_url = "http://127.0.0.1:11434/v1"
#   models "qwen3" { limit = { context = 32768 } }
# }

# How many rounds of tool calls a run may have.
# max_tool_rounds = 50

# Where sessions are kept; the user's own directory when left out.
# storage_backend = "file"
# sessions_dir    = "./.capstan/sessions"

# A server whose tools are offered. It is a program that is started on this machine.
# mcp_servers "docs" {
#   command = "npx"
#   args    = ["-y", "some-mcp-server"]
# }
`,
}

export const instructionsTemplate: Template = {
  path: 'AGENTS.md',
  text: `# For agents that work here

Say in a few lines what a newcomer would have to be told:

- what this project is,
- how it is built and tested,
- what must not be touched.
`,
}

export const agentDirTemplates: readonly Template[] = [
  {
    path: 'agents/example/instructions.md',
    text: `You look after this project. Be brief, and say what you looked at.
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
    text: `// Runs in a sandbox: it has nothing but the tools that its file in tools/ allows.
async function run(ctx, inputs) {
  return await ctx.grep('TODO', inputs)
}
`,
  },
]
