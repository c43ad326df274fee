// Serves the agent directory next to this file, fires its schedule once, now, and stops. Without `--once` it runs until
// Ctrl-C.
import { join } from 'node:path'
import { Agent } from 'capstan'

const here = import.meta.dirname
const agent = await Agent.create()
const served = await agent.serveAgentDir(join(here, 'todo-agent'), join(here, 'workspace'), {
  reload: true,
  onResult: (report) => {
    const text = report.status === 'completed' ? report.result.text : ''
    console.log(`${report.schedule}: ${report.status}\n${text}`)
  },
})
await served.runNow('weekdays')
if (process.argv.includes('--once')) await agent.close()
else process.once('SIGINT', () => agent.close())
