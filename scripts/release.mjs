// Versions and releases. A change is described in `.changeset/*.md`, in the format of changesets
// (https://github.com/changesets/changesets); `version` turns these files into the next version and its part of
// CHANGELOG.md. That package itself is not installed: it would add many packages to every contributor's install for
// these few lines, and its current version does not run on Node 20.
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const folder = '.changeset'
const sizes = /** @type {const} */ (['patch', 'minor', 'major'])

/**
 * @typedef {(typeof sizes)[number]} Size
 * @typedef {{ file: string, size: Size, summary: string }} Change
 */

/** @param {string[]} args */
export function runRelease(args) {
  const [command] = args
  if (command === 'version') return writeVersion()
  if (command === '--dry-run') return showRelease()
  if (command === '--publish') return publish()
  console.error(
    'npm run release -- --dry-run   show what would be published\nnpm run release -- version     write the next version from .changeset/\nnpm run release -- --publish   publish, in the release workflow only',
  )
  return 2
}

/** Turns the changes into the next version. Changes nothing when there are none. */
function writeVersion() {
  const changes = readChanges()
  if (changes.length === 0) {
    console.log(`No changes in ${folder}/: nothing to do.`)
    return 0
  }
  const now = packageFile()
  const next = nextVersion(now.version, largest(changes))
  for (const file of ['package.json', 'package-lock.json'])
    writeFileSync(file, withVersion(readFileSync(file, 'utf8'), now, next))
  writeFileSync('CHANGELOG.md', withRelease(readFileSync('CHANGELOG.md', 'utf8'), next, changes))
  for (const { file } of changes) rmSync(join(folder, file))
  console.log(`Version ${next}: ${changes.length} changes are in CHANGELOG.md. Read it, then commit.`)
  return 0
}

/** Shows the files, the size and the registry. Needs no account and sends nothing. */
function showRelease() {
  const { name, version } = packageFile()
  const changes = readChanges()
  const about =
    changes.length === 0
      ? 'no further changes are waiting'
      : `next: ${nextVersion(version, largest(changes))}`
  console.log(`${name}@${version} (${about})\n`)
  console.log(
    sectionOf(readFileSync('CHANGELOG.md', 'utf8'), version) ??
      `CHANGELOG.md has no section "## ${version}".`,
  )
  for (const { size, summary, file } of changes) console.log(`${size} (${file}): ${summary.split('\n')[0]}`)
  console.log('\nWhat npm publish --provenance would send (it signs and uploads nothing in a dry run):')
  return npm(['publish', '--dry-run', '--ignore-scripts', '--access', 'public', '--provenance'])
}

function publish() {
  if (process.env['ACTIONS_ID_TOKEN_REQUEST_URL'] === undefined) {
    console.error(
      'Releases are published by the release workflow, which signs where they were built. See --dry-run.',
    )
    return 2
  }
  return npm(['publish', '--provenance', '--access', 'public'])
}

/** @returns {Change[]} */
export function readChanges(directory = folder) {
  const { name } = packageFile()
  return readdirSync(directory)
    .filter((file) => file.endsWith('.md') && file !== 'README.md')
    .sort()
    .map((file) => parseChange(file, readFileSync(join(directory, file), 'utf8'), name))
}

/** @param {string} file @param {string} text @param {string} name @returns {Change} */
export function parseChange(file, text, name) {
  const [, front = '', summary = ''] = /^---\r?\n([\s\S]*?)\r?\n---\r?\n([\s\S]*)$/.exec(text) ?? []
  const [, found, size] = /^["']?([^"':]+)["']?:\s*(\w+)\s*$/m.exec(front) ?? []
  const known = sizes.find((each) => each === size)
  if (found !== name || known === undefined)
    throw new Error(
      `${file} must begin with "---", a line like '"${name}": minor' (${sizes.join(', ')}) and "---".`,
    )
  if (summary.trim() === '') throw new Error(`${file} does not describe the change.`)
  return { file, size: known, summary: summary.trim() }
}

/** @param {readonly Change[]} changes @returns {Size} */
function largest(changes) {
  return sizes.findLast((size) => changes.some((change) => change.size === size)) ?? 'patch'
}

/** Before 1.0.0 a breaking change raises the minor version. @param {string} version @param {Size} size */
export function nextVersion(version, size) {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number)
  if (size === 'major' && major > 0) return `${major + 1}.0.0`
  return size === 'patch' ? `${major}.${minor}.${patch + 1}` : `${major}.${minor + 1}.0`
}

/** @param {string} changelog @param {string} version @param {readonly Change[]} changes */
export function withRelease(changelog, version, changes) {
  const titles = { major: 'Breaking', minor: 'Added', patch: 'Fixed' }
  const parts = sizes.toReversed().flatMap((size) => {
    const entries = changes.filter((change) => change.size === size)
    if (entries.length === 0) return []
    const lines = entries.map(({ summary }) => `- ${summary.replaceAll('\n', '\n  ')}\n`).join('')
    return [`### ${titles[size]}\n\n${lines}`]
  })
  const section = `## ${version}\n\n${parts.join('\n')}\n`
  const at = changelog.search(/^## /m)
  return at < 0
    ? `${changelog.trimEnd()}\n\n${section}`
    : changelog.slice(0, at) + section + changelog.slice(at)
}

/** @param {string} changelog @param {string} version */
function sectionOf(changelog, version) {
  return changelog
    .split(/^(?=## )/m)
    .find((part) => new RegExp(`^## \\[?${version.replaceAll('.', '\\.')}\\b`).test(part))
}

/**
 * Replaces the package's own version, and nothing else of the file.
 * @param {string} text of package.json or package-lock.json @param {{ name: string, version: string }} now @param
 * {string} next
 */
export function withVersion(text, { name, version }, next) {
  const own = new RegExp(`("name": "${name}",\\s*"version": ")${version.replaceAll('.', '\\.')}"`, 'g')
  return text.replace(own, `$1${next}"`)
}

/** @returns {{ name: string, version: string }} */
function packageFile() {
  return JSON.parse(readFileSync('package.json', 'utf8'))
}

/** @param {string[]} args */
function npm(args) {
  const script = process.env['npm_execpath']
  const [file, first] = script?.endsWith('.js') ? [process.execPath, [script]] : ['npm', []]
  const { status } = spawnSync(file, [...first, ...args], { stdio: 'inherit' })
  return status ?? 1
}
