import type { Skill } from '../skill.js'

export const writeSkill: Skill = {
  name: 'write-skill',
  description:
    'Write or improve a skill: a SKILL.md that teaches an agent how a kind of work is done here. Use when asked to make a skill, or to keep a procedure for next time.',
  kind: 'instruction',
  tags: ['skill', 'authoring', 'procedure', 'documentation'],
  allowedTools: ['read', 'grep', 'glob', 'ls', 'write', 'edit'],
  source: 'builtin',
  forModels: true,
  body: `# Write a skill

A skill is worth having when the work comes again, has steps that are easy to get wrong, and a capable stranger would not know them. General knowledge needs no skill.

## Where it goes
One folder a skill: \`.agents/skills/<name>/SKILL.md\` in the repository, for all who work there. Next to it, as needed: \`scripts/\` for what is better run than described, \`references/\` for what is only read in some cases. The directory \`.capstan\` cannot be written by agents: a person puts skills there.

## What it looks like
\`\`\`markdown
---
name: release-notes
description: Write the release notes of a version from its merged changes. Use before tagging a release.
tags: [release, changelog]
allowed-tools: read, grep, git
---
# Write release notes
1. ...
\`\`\`
- \`name\`: lower-case letters, digits and hyphens; the same as the folder. A verb and an object.
- \`description\`: one or two sentences: what it does, then "Use when ...". This line alone decides whether the skill is ever opened: put in the words that people use when they need it.
- \`allowed-tools\`: what it needs when it runs apart, and no more: \`read\`, \`bash(git log *)\`. Left out: it runs without tools. It never gives a permission.

## How to write it
1. Do the work once, or find where it was done: commits, scripts, the answers of the person who asks. Write from that, not from memory.
2. Begin with the result: what is there when it is done, and how one can tell.
3. Steps in order, each with its command or file, and what is seen when it went right. Say what to do when it did not.
4. Name the traps: what looks right and is wrong here, with the reason. That is what a stranger lacks.
5. Facts of this place (paths, names, limits) exactly; leave out what any engineer knows.
6. Under 300 lines. Move long tables and rare cases to \`references/\` and say when to read which file. Paths are relative to the skill's folder.
7. No secrets, no names of people, no dates that age.

## Check it
- Read only the description: would you open it for this task, and not for the neighbouring one?
- Follow it literally on a real case, as if you knew nothing else. Every place where you had to think is a missing line.
- Take away each line in turn: would anything go wrong without it? If not, leave it out.
`,
}
