/**
 * The pages of the site in reading order. A page is its path in docs/ without `.md`; its text is what the sidebar shows.
 * test/docs/site.test.ts fails when a page is missing here.
 *
 * @type {readonly { text: string, items: readonly { text: string, link: string }[], collapsed?: boolean }[]}
 */
export const sidebar = [
  {
    text: 'Start',
    items: [
      { text: 'Overview', link: '/' },
      { text: 'Getting started', link: '/getting-started' },
      { text: 'Command line', link: '/command' },
      { text: 'Choose a model', link: '/guides/choose-a-model' },
    ],
  },
  {
    text: 'Guides',
    items: [
      { text: 'Run in CI', link: '/guides/ci' },
      { text: 'Run in a container', link: '/guides/container' },
      { text: 'Run as a service', link: '/guides/service' },
      { text: 'Chat in a web app', link: '/guides/web-chat' },
      { text: 'Slack or webhook bot', link: '/guides/bot' },
      { text: 'HTTP server', link: '/server' },
      { text: 'Several machines', link: '/cluster' },
      { text: 'Python', link: '/python' },
      { text: 'Editors', link: '/acp' },
      { text: 'Security', link: '/security' },
    ],
  },
  {
    text: 'Come from another system',
    items: [
      { text: 'AI SDK', link: '/migration/ai-sdk' },
      { text: 'Claude Agent SDK', link: '/migration/claude-agent-sdk' },
      { text: 'OpenAI Agents SDK', link: '/migration/openai-agents-sdk' },
      { text: 'LangGraph', link: '/migration/langgraph' },
      { text: 'A3S Code, Anvia, agent-system', link: '/migration' },
    ],
  },
  {
    text: 'Sessions',
    items: [
      { text: 'Agents and sessions', link: '/sessions' },
      { text: 'Events', link: '/events' },
      { text: 'Inspector', link: '/inspector' },
      { text: 'Telemetry', link: '/telemetry' },
      { text: 'Persistence and resume', link: '/persistence' },
      { text: 'The database', link: '/postgres' },
      { text: 'Models', link: '/models' },
      { text: 'Memory', link: '/memory' },
      { text: 'Supervision', link: '/supervision' },
    ],
  },
  {
    text: 'Permissions and sandbox',
    items: [
      { text: 'Rules and permissions', link: '/authority' },
      { text: 'Workspace and sandbox', link: '/workspace' },
      { text: 'Workspace backends', link: '/workspaces' },
      { text: 'The gate', link: '/gate' },
    ],
  },
  {
    text: 'Tools',
    items: [
      { text: 'Tools', link: '/tools' },
      { text: 'MCP', link: '/mcp' },
      { text: 'Programs', link: '/programs' },
      { text: 'Structured output', link: '/objects' },
      { text: 'Verification', link: '/verification' },
      { text: 'Queue and workers', link: '/queue' },
    ],
  },
  {
    text: 'Agents',
    items: [
      { text: 'Subagents', link: '/subagents' },
      { text: 'Agents in files', link: '/agents' },
      { text: 'Skills', link: '/skills' },
      { text: 'Agent directories and schedules', link: '/agent-directories' },
      { text: 'Agents without a workspace', link: '/agent-builder' },
    ],
  },
  {
    text: 'Reference',
    items: [
      { text: 'Configuration', link: '/configuration' },
      { text: 'API reference', link: '/reference' },
      { text: 'Performance', link: '/performance' },
    ],
  },
  {
    text: 'Design',
    collapsed: true,
    items: [
      { text: 'Architecture', link: '/design/architecture' },
      { text: 'Glossary', link: '/design/glossary' },
      { text: 'The session', link: '/design/session' },
      { text: 'The gate', link: '/design/gate' },
      { text: 'The loop', link: '/design/loop' },
      { text: 'Models', link: '/design/models' },
      { text: 'The log', link: '/design/log' },
      { text: 'Sessions in Postgres', link: '/design/postgres' },
      { text: 'Stored formats', link: '/design/formats' },
      { text: 'Tool contract', link: '/design/tool-contract' },
      { text: 'Shell rules', link: '/design/shell-rules' },
      { text: 'Sandbox', link: '/design/sandbox' },
      { text: 'Attacks and what tries them', link: '/design/security-cases' },
      { text: 'Programs', link: '/design/programs' },
      { text: 'MCP', link: '/design/mcp' },
      { text: 'Memory', link: '/design/memory' },
      { text: 'Structured output', link: '/design/objects' },
      { text: 'Queue', link: '/design/queue' },
      { text: 'Cluster', link: '/design/cluster' },
      { text: 'Schedules', link: '/design/schedules' },
      { text: 'Server', link: '/design/server' },
      { text: 'Python package', link: '/design/python' },
      { text: 'Agent Client Protocol', link: '/design/acp' },
      { text: 'Skills', link: '/design/skills' },
      { text: 'Subagents', link: '/design/subagents' },
      { text: 'Verification', link: '/design/verification' },
      { text: 'Performance', link: '/design/performance' },
      { text: 'Testing', link: '/design/testing' },
    ],
  },
]
