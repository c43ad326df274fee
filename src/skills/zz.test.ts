import { mkdirSync, mkdtempSync, writeFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'vitest'
import { openSkillLibrary } from './open-library.js'
import { skillDirectories } from './places.js'
import { readProjectAgents, readUserAgents } from '../subagents/files/read-agents.js'
it('x', async () => {
  const d = mkdtempSync('/tmp/skbench-')
  const topics = ['release', 'database', 'migration', 'review', 'frontend', 'security', 'billing', 'search']
  for (let i = 0; i < 1000; i++) { mkdirSync(join(d, `s${i}`)); writeFileSync(join(d, `s${i}/SKILL.md`), `---\nname: ${topics[i%8]}-${i}\ndescription: Handles ${topics[(i>>3)%8]} of kind ${i}. Use when needed.\nallowed-tools: Read, Bash(git *)\ntags: [a, b${i}]\n---\n${'Line of text with some words in it.\n'.repeat(100)}`) }
  for (let k = 0; k < 3; k++) {
    const c = process.cpuUsage(); const b = performance.now(); const lib = await openSkillLibrary({ directories: [d] }); const u = process.cpuUsage(c)
    console.log('scan 1000', (performance.now() - b).toFixed(0), 'ms cpu', (u.user+u.system)/1000|0, lib.skills.length)
    const b2 = performance.now(); await lib.search('release', 5); console.log('index', (performance.now() - b2).toFixed(0))
    const t: number[] = []
    for (const q of ['release notes', 'database migration kind 77', 'securty review']) for (let i = 0; i < 50; i++) { const b3 = performance.now(); await lib.search(q, 5); t.push(performance.now() - b3) }
    t.sort((a, b) => a - b); console.log('search p50', t[75]!.toFixed(2), 'p95', t[142]!.toFixed(2))
  }
  const b = performance.now(); for (let i = 0; i < 200; i++) skillDirectories({ root: '/work/main/src/skills', userDir: '/nonexistent/.capstan' }); console.log('look µs', ((performance.now() - b) * 5).toFixed(0))
  const b4 = performance.now(); for (let i = 0; i < 200; i++) { readProjectAgents('/work/main/src/skills', []); readUserAgents('/nonexistent/.capstan', []) } console.log('agents look µs', ((performance.now() - b4) * 5).toFixed(0))
  rmSync(d, { recursive: true })
}, 60000)
