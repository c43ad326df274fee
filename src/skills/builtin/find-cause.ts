import type { Skill } from '../skill.js'

export const findCause: Skill = {
  name: 'find-cause',
  description:
    'Find the cause of a failure (a bug, a failing or flaky test, a crash, a hang, a regression) and mend it where it arises. Use before changing code to make a symptom go away.',
  kind: 'instruction',
  tags: ['debug', 'bug', 'failure', 'flaky', 'regression', 'root-cause'],
  allowedTools: ['read', 'grep', 'glob', 'ls', 'git', 'bash', 'edit', 'write', 'patch'],
  source: 'builtin',
  forModels: true,
  body: `# Find the cause of a failure

Do not change code to see whether it helps. Each step below ends in something you know; write it down as you go.

## 1. See it fail
- Run exactly what was reported, and keep the whole output: message, exit code, first error (later ones often follow from it).
- It does not fail for you? Compare: version, branch, environment variables, data, order of tests, time of day, machine. Until you have seen it fail you are guessing; say so.
- It fails sometimes? Run it many times and count, alone and with its neighbours. That count is your measure; "it passed" once proves nothing.

## 2. Make it small
Take away input, steps, options and files as long as it still fails. Half at a time. Stop when taking away anything makes it pass: what you took last is involved.
Did it work before? Bisect: find a version that works, then halve the range between (\`git bisect run\` with the small case does it by itself). The change that broke it says more than any stack trace.

## 3. Explain it
- Read from the place of the error backwards: which value is wrong here, and where was it made? Follow the value, not the calls.
- Write down two or three causes that would explain **all** you saw, also why it works elsewhere. For each: what would you see if it were true, and what if not?
- Test the cheapest of these predictions by looking (a log line, a debugger, a print, a query), not by mending. A prediction that fails has taught you something: cross the cause out and say why.
- The cause is found when you can switch the failure on and off at will, and know why.

## 4. Mend the cause
- First a test that fails for this very reason. Watch it fail.
- Change the place where the wrong thing arises, not the place where it hurts. A check, a retry, a longer wait or a catch around the symptom needs a reason why the cause itself stays.
- Look for its siblings: search for the same mistake elsewhere.
- Watch the test pass, then everything near it. For a flaky failure: as many runs as it took to see it ten times before.
- Take out what you put in to look.

## 5. Report
What failed, why (the chain from cause to symptom, with file and line), what you changed, what you ran before and after, and what you are not sure of. Not found: say what you ruled out and how, and what to look at next.
`,
}
