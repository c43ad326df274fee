// @ts-nocheck: run with the built package, whose types are not there while the tree is checked. The programs see the types below.
// What the samples take for granted: an agent on a model server, a workspace with files, and a place for stores.
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Agent } from 'capstan'
import { startModelServer } from 'capstan/testing'

/** @type {(() => unknown)[]} */
const closing = []

/** Closes what the programs have opened. */
export async function closeAll() {
  for (const close of closing.splice(0).reverse()) await close()
}

/**
 * Opens an agent whose models answer from a script, on a workspace with these files beside a README.
 * @param {import('capstan/testing').ModelScript<import('capstan/testing').ServedRequest,
 * import('capstan/testing').ServedStep>} script
 * @param {Record<string, string>} files
 */
export async function open(script = () => 'A short answer.', files = {}) {
  const base = realpathSync(mkdtempSync(join(process.env['SEEDS_DIR'] ?? '', 'sample-')))
  const place = (/** @type {string} */ name) => join(base, name)
  const workspace = place('workspace')
  repository ??= createRepository(place('repository'))
  cpSync(repository, workspace, { recursive: true })
  if (Object.keys(files).length > 0) {
    write(workspace, files)
    commitAll(workspace, 'files')
  }
  const server = await startModelServer(script)
  closing.push(() => server.close())
  const aclSource = `
    default_model = "openai/docs"
    providers "openai" {
      apiKey  = "test"
      baseUrl = "${server.url}/v1"
      models "docs" { name = "Docs" }
      models "docs-alt" { name = "Docs Alt" }
    }
  `
  const agent = await Agent.create(aclSource, { userDir: place('user') })
  closing.push(() => agent.close())
  const [memoryDir, sessionDir, userDir] = [place('memory'), place('sessions'), place('user')]
  return { agent, aclSource, server, base, workspace, memoryDir, sessionDir, userDir }
}

/** Most samples have the same repository: it is made once and copied. @type {string | undefined} */
let repository

/** @param {string} directory */
function createRepository(directory) {
  write(directory, { 'README.md': 'planningMode and PermissionPolicy are documented here.\n' })
  // Without the sample hooks, which would be most of the files of each copy.
  execFileSync('git', ['init', '--quiet', '--template='], { cwd: directory, stdio: 'ignore' })
  commitAll(directory, 'first')
  return directory
}

/** @param {string} directory @param {string} message */
function commitAll(directory, message) {
  const git = (/** @type {string[]} */ ...args) =>
    execFileSync('git', args, { cwd: directory, stdio: 'ignore' })
  git('add', '--all')
  const settings = ['user.name=t', 'user.email=t@example.test', 'maintenance.auto=false']
  git(...settings.flatMap((setting) => ['-c', setting]), 'commit', '--quiet', '--message', message)
}

/** Closes an agent or a session when all programs have ended. @param {{ close(): Promise<unknown> }} one */
export function closeLater(one) {
  closing.push(() => one.close())
}

/** @param {string} folder @param {Record<string, string>} files */
export function write(folder, files) {
  for (const [name, text] of Object.entries(files)) {
    const file = join(folder, name)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
  }
}

/** The bodies of the requests that a model server got. @param {import('capstan/testing').ModelServer} server */
export function bodiesOf(server) {
  return server.requests.map(({ body }) => JSON.stringify(body))
}

/** The text of a sample. @param {string} name */
export function sampleText(name) {
  return readFileSync(new URL(`samples/${name}.sample`, import.meta.url), 'utf8')
}

/** The script of an MCP server with one tool, `echo`. */
export const echoServer = readFileSync(new URL('../mcp/bad-server.mjs', import.meta.url), 'utf8')
