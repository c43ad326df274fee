import {
  call,
  done,
  excerpt,
  failureOf,
  indented,
  type Kind,
  type Plan,
  type Result,
  undone,
} from '../plan.js'
import { unquoted } from '../sentence.js'

const check =
  /^(?:run|execute|start|do|perform)?\s*(?:the\s+|all\s+|my\s+|a\s+|our\s+)*(?:unit\s+)?(tests?|checks?|test suite|build|lint(?:er)?|type\s?checks?)$/i
const opening = /^(?:run|execute|exec)\s+(?:the\s+)?(?:command\s+)?/i

/** Runs a command or the project's own check, and reports its last output and its result. */
export const run: Kind = {
  examples: ['run npm test', 'run `git stash list`', 'run the tests'],
  understand(sentence) {
    const goal = check.exec(sentence)?.[1]
    if (goal !== undefined) return runCheck(goal)
    if (!opening.test(sentence)) return undefined
    const command = unquoted(sentence.replace(opening, ''))
    return command === '' ? undefined : runCommand(command)
  },
}

function runCommand(command: string): Plan {
  return ([ran]) =>
    ran === undefined ? call('bash', { command }, `Running ${command}.`) : outcome(command, ran)
}

/** Chooses the command of a project's check by the files at its root. */
function runCheck(goal: string): Plan {
  return ([listed, ran]) => {
    if (listed === undefined)
      return call('ls', { path: '.' }, `Finding out how this project runs its ${goal}.`)
    if (listed.failed) return failureOf(listed, 'looking at the workspace')
    const command = commandFor(goal, listed.text)
    if (command === undefined)
      return undone(
        `I see no way to run the ${goal} here: there is no package.json, Cargo.toml, go.mod, pyproject.toml or Makefile. Name the command: run \`…\`.`,
      )
    return ran === undefined ? call('bash', { command }, `Running ${command}.`) : outcome(command, ran)
  }
}

function commandFor(goal: string, listing: string): string | undefined {
  const has = (name: string): boolean =>
    listing.split('\n').some((line) => line.trim().split(/\s+/).at(-1) === name)
  const task = /build/i.test(goal)
    ? 'build'
    : /lint/i.test(goal)
      ? 'lint'
      : /type/i.test(goal)
        ? 'typecheck'
        : 'test'
  if (has('package.json')) return task === 'test' ? 'npm test' : `npm run ${task}`
  if (has('Cargo.toml'))
    return { build: 'cargo build', lint: 'cargo clippy', typecheck: 'cargo check', test: 'cargo test' }[task]
  if (has('go.mod'))
    return {
      build: 'go build ./...',
      lint: 'go vet ./...',
      typecheck: 'go vet ./...',
      test: 'go test ./...',
    }[task]
  if (has('pyproject.toml') || has('setup.py')) return task === 'test' ? 'python -m pytest' : undefined
  return has('Makefile') ? `make ${task}` : undefined
}

function outcome(command: string, ran: Result): ReturnType<Plan> {
  if (ran.failed) return failureOf(ran, `running ${command}`)
  const ended = /^\[(?:Exit code: [1-9]\d*|Ended by .*)\]$/m.exec(ran.text)?.[0]
  const said =
    ran.text.trim() === '' ? 'It printed nothing.' : `It printed:\n\n${indented(excerpt(ran.text, 40, true))}`
  if (ended === undefined) return done(`I ran ${command}, and it succeeded. ${said}`)
  return undone(`I ran ${command}, and it failed. ${said}`)
}
