import type { Skill } from './skill.js'

/** The same object for all sessions that have read the same skill: its text is most of what an idle one would keep. */
export function sharedSkill(skill: Skill): Skill {
  const key = `${skill.source} ${skill.path}`
  const known = recent.get(key)?.deref()
  recent.delete(key)
  const shared = known !== undefined && isSame(known, skill) ? known : skill
  recent.set(key, new WeakRef(shared))
  // What was not read for longest goes first.
  if (recent.size > maxRemembered) recent.delete(recent.keys().next().value ?? '')
  return shared
}

const recent = new Map<string, WeakRef<Skill>>()
const maxRemembered = 4_096

function isSame({ body, ...info }: Skill, { body: otherBody, ...other }: Skill): boolean {
  return body === otherBody && JSON.stringify(info) === JSON.stringify(other)
}
