import type { Skill } from '../skill.js'

export const reviewChange: Skill = {
  name: 'review-change',
  description:
    'Review a change (a diff, a branch, the uncommitted work) for defects before it is merged. Use when asked to review, check or judge changed code.',
  kind: 'instruction',
  tags: ['review', 'code-review', 'diff', 'pull-request', 'quality'],
  allowedTools: ['read', 'grep', 'glob', 'ls', 'git'],
  source: 'builtin',
  forModels: true,
  body: `# Review a change

Find what would cause harm after the merge. Taste comes last.

## 1. Know what changed, and why
- Get the change itself: the diff of the branch against its base, or of the work tree. Nothing to review is an answer too: say so.
- Say in one sentence what it is meant to do. If the change, its message and its tests disagree about that, this is the first finding.
- List the files by risk: what runs as another user, deletes, pays, locks, parses foreign input or is called from many places comes first.

## 2. Read it in its place
For each changed function read the whole function, then its callers (search for its name), then what it calls that changed too. A diff shows three lines of context; defects sit in the rest.
Ask of every hunk:
- **Wrong results**: empty, one, many; zero and negative; the last element; time zones; text that is not ASCII; floating point as money.
- **Failure halfway**: what remains when line two of three throws? Is an error swallowed, or reported as success? Is something retried that must not happen twice?
- **At the same time**: two callers, two processes, a cancelled request. Is a check still true when it is used?
- **Trust**: does text from outside reach a command, a query, a path, a page or a log without being checked? Does a secret?
- **Contracts**: does a public name, a file format, a default or an error change without notice to its users? Is there a migration, and a way back?
- **Resources**: is everything that is opened closed on every path? Does anything grow with input that an outsider chooses?
- **Tests**: which of these would fail if the change were reverted? If none, it is not tested. A test that was loosened or removed needs a reason.

## 3. Prove it
For each suspicion find the line that makes it true, or drop it. "Might" without a way to make it happen is not a finding. If you may run things, run the smallest thing that shows it.

## 4. Report
Most serious first. For each finding:
\`\`\`
[blocker|should fix|note] path:line: what goes wrong, for whom
  How it happens: the input or order of events
  What to do: the smallest change that mends it
\`\`\`
Then: what you looked at, what you did not, and whether it can be merged as it is. No findings: say so plainly, and name the two places you would watch.
`,
}
