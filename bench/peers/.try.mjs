import { startField } from '/work/main/bench/peers/field.mjs'
import { names } from '/work/main/bench/peers/contract.mjs'
import { openWorkplace } from '/work/main/bench/loop/workplace.mjs'
import { mkdtempSync } from 'node:fs'
const w = await openWorkplace()
const place = mkdtempSync('/tmp/bp-')
const want = process.argv.slice(2)
for (const n of want.length?want:names) {
 const [c] = await startField([n], { url: w.server.url, root: w.root, place })
 if(!c) continue
 for (const [label, work] of Object.entries({stream:{plan:'rounds-5',rounds:5,times:3}, plain:{mode:'plain',plan:'rounds-5',rounds:5,times:3}, deltas:{plan:'deltas-200'}, history:{plan:'answer',history:100,length:50}, at:{plan:'rounds-3',rounds:3,times:20,at:20}})) {
  if (c.cannot[label]) { console.log(n,label,'cannot'); continue }
  try { const t = await Promise.race([c.runs(work), new Promise((_,r)=>setTimeout(()=>r(new Error('timeout 30s')),30000))]); console.log(n,label,'cpu',t.cpu.toFixed(1)) } catch(e) { console.log(n,label,'FAIL',e.message.slice(0,500)) }
 }
 try { console.log(n, JSON.stringify(await c.hold(20,3))) } catch(e){console.log(n,'hold FAIL',e.message.slice(0,300))}
 await c.end()
}
await w.leave()
