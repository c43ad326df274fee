/**
 * How a sample runs: what it takes for granted before it, and what must hold after it. Both are JavaScript and strict
 * TypeScript.
 */
export type Program = {
  readonly before: string
  readonly after: string
  /** Paths of the sample, and what takes their place. */
  readonly paths?: Readonly<Record<string, string>>
  /** The sample is not JavaScript: its text is in the variable `sample`. */
  readonly asText?: true
}

/** The samples that run as they are, by name. */
export const programs: Readonly<Record<string, Program>> = {
  '000-01-generate-object.js': {
    before: `
      const fits = { sentiment: 'positive', confidence: 0.95 }
      const { agent, workspace } = await open([{ toolCalls: [{ name: 'emit_sentiment', args: fits }] }])
      const session = agent.session(workspace)`,
    after: `assert.deepEqual(object, fits)`,
  },
  '000-02-object-stream.js': {
    before: `
      const args = { schema: { type: 'object', required: ['ids'], properties: { ids: { type: 'array' } } }, prompt: 'All.' }
      const { agent, workspace } = await open([
        { toolCalls: [{ name: 'generate_object', args }] },
        { toolCalls: [{ name: 'emit_result', args: { ids: [1, 2, 3] } }] },
        'Done.',
      ])
      const session = agent.session(workspace, { permissionPolicy: { allow: ['generate_object'] } })
      /** @type {unknown[]} */
      const shown = []
      const renderProgress = (/** @type {unknown} */ partial) => shown.push(partial)`,
    after: `
      assert.ok(shown.length > 0)
      assert.deepEqual(shown.at(-1), { ids: [1, 2, 3] })`,
  },
  '000-03-direct-calls.js': {
    before: `
      const { agent, workspace } = await open(undefined, { 'src/lib.rs': 'struct PermissionPolicy;\\n' })
      const session = agent.session(workspace, { sandbox: 'off', env: { PATH: process.env['PATH'] ?? '' } })`,
    after: `
      assert.deepEqual(files, ['src/lib.rs'])
      assert.match(String(hits), /src\\/lib\\.rs/)
      assert.match(status.output, /clean|nothing to commit/)
      assert.match(String(output), /test result: ok/)
      assert.match(raw.output, /PermissionPolicy are documented/)
      assert.deepEqual(schemas.map(({ name }) => name).sort(), session.toolNames().toSorted())`,
  },
  '000-04-tasks.js': {
    before: `
      const { agent, workspace, server } = await open()
      const session = agent.session(workspace)`,
    after: `
      const bodies = bodiesOf(server).join()
      for (const prompt of ['compact evidence list', 'Locate auth tests.', 'Review auth edge cases.']) assert.ok(bodies.includes(prompt))`,
  },
  '000-07-program.js': {
    before: `
      const { agent, workspace } = await open(undefined, {
        'scripts/ptc/search-auth.js': sampleText('000-06-search-auth.js'),
        'crates/core/src/policy.rs': 'pub struct PermissionPolicy;\\n',
      })
      const session = agent.session(workspace)
      const result =`,
    after: `
      assert.equal(result.exitCode, 0)
      const { script_result: found } = JSON.parse(result.metadataJson ?? '')
      assert.equal(found.summary, 'Found 1 candidate files for PermissionPolicy')
      assert.equal(found.evidence[0].file, 'crates/core/src/policy.rs')
      assert.match(String(found.rawSearch), /policy\\.rs/)`,
  },
  '000-08-verification.js': {
    before: `
      const { agent, workspace } = await open()
      const session = agent.session(workspace, { sandbox: 'off', env: { PATH: process.env['PATH'] ?? '' } })`,
    after: `
      assert.equal(report.subject, 'release readiness')
      assert.equal(report.status, 'passed')`,
  },
  '001-02-agent.js': {
    before: `
      const { aclSource, workspace } = await open()
      const options = {}`,
    after: `
      closeLater(agent)
      assert.equal((await session.send('Hello')).text, 'A short answer.')
      assert.equal((await named.send('Hello')).text, 'A short answer.')
      const snake = aclSource.replace('apiKey', 'api_key').replace('baseUrl', 'base_url')
      fs.writeFileSync(path.join(workspace, 'agent.acl'), snake)
      const fromFile = await Agent.create(path.join(workspace, 'agent.acl'))
      closeLater(fromFile)
      assert.equal((await fromFile.session(workspace).send('Hello')).text, 'A short answer.')`,
  },
  '001-04-session-options.js': {
    before: `
      const { agent, workspace, memoryDir, sessionDir, server } = await open(undefined, {
        'skills/release/SKILL.md': '---\\nname: release\\ndescription: Checks a release.\\nallowed-tools: read\\n---\\nLook for blockers.\\n',
      })`,
    after: `
      assert.equal((await session.send('Hello')).text, 'A short answer.')
      assert.match(bodiesOf(server).at(-1) ?? '', /"model":"docs-alt"/)
      assert.equal(session.sessionId, 'docs-contract')
      assert.equal(session.initWarning ?? '', '')`,
  },
  '001-05-accessors.js': {
    before: `
      const { agent, workspace } = await open()
      const session = agent.session(workspace)`,
    after: `
      assert.equal(session.workspace, fs.realpathSync(workspace))
      assert.deepEqual(session.history(), [])
      assert.equal(session.cancel(), false)`,
  },
  '001-06-permission-policy.js': {
    before: `
      const { agent, workspace } = await open()
      const session =`,
    after: `assert.equal(session.initWarning ?? '', '')`,
  },
  '001-07-prompt-slots.js': {
    before: `
      const { agent, workspace, server } = await open()
      const session =`,
    after: `
      await session.send('Hello')
      const body = bodiesOf(server).join()
      for (const words of ['release-readiness reviewer', 'Find blockers before improvements', 'concise, findings first'])
        assert.ok(body.includes(words), words)`,
  },
  '001-08-result.js': {
    before: `
      const { agent, workspace } = await open()
      const session = agent.session(workspace)`,
    after: `
      assert.equal(result.text, 'A short answer.')
      assert.equal(result.totalTokens, result.promptTokens + result.completionTokens)
      for (const count of [result.toolCallsCount, result.pendingVerificationCount, result.failedVerificationCount, result.verificationReportCount])
        assert.equal(count, 0)
      assert.equal(typeof result.verificationStatus, 'string')
      assert.equal(typeof JSON.parse(result.verificationSummaryJson), 'object')
      assert.equal(typeof result.verificationSummaryText, 'string')
      assert.ok(!('traceEvents' in result) && !('verificationReports' in result))`,
  },
  '001-09-stream.js': {
    before: `
      const { agent, workspace } = await open()
      const session = agent.session(workspace)
      let printed = ''
      const process = { stdout: { write: (/** @type {string} */ text) => (printed += text) } }`,
    after: `assert.equal(printed, 'A short answer.')`,
  },
  '001-10-direct-tools.js': {
    before: `
      const { agent, workspace } = await open(undefined, {
        'src/lib.rs': 'struct PermissionPolicy;\\n',
        'agents/reviewer.md': '---\\nname: reviewer\\ndescription: Reviews changes.\\nmax_steps: 3\\npermissions:\\n  allow: [read]\\n---\\n',
        'agents/tester.yaml': 'name: tester\\ndescription: Runs the tests.\\nmax_steps: 3\\npermissions:\\n  allow: [read]\\n',
      })
      const session = agent.session(workspace)`,
    after: `
      const names = session.toolNames()
      for (const name of 'read write edit patch grep glob ls bash task parallel_task search_skills Skill program git batch web_fetch web_search'.split(' '))
        assert.ok(names.includes(name), name)
      for (const agentName of ['reviewer', 'tester']) {
        const { output, exitCode } = await session.task({ agent: agentName, description: 'look', prompt: 'Look.' })
        assert.equal(exitCode, 0, output)
      }
      assert.match((await session.git('log', undefined, undefined, undefined, undefined, undefined, undefined, 5)).output, /first/)`,
  },
  '001-12-program.js': {
    before: `
      const { agent, workspace } = await open()
      const session = agent.session(workspace)`,
    after: `
      assert.deepEqual(meta.script_result, { summary: 'ok', hasHits: true })
      assert.equal(meta.program.tool_calls.length, 2)`,
  },
  '001-13-verification.js': {
    before: `
      const { agent, workspace } = await open()
      const session = agent.session(workspace)`,
    after: `
      assert.equal(report.subject, 'docs api check')
      assert.equal(report.status, 'passed')
      assert.equal(session.verificationReports().length, 1)
      assert.ok(Array.isArray(session.verificationPresets()))`,
  },
  '001-14-memory.js': {
    before: `const { agent, workspace, memoryDir } = await open()`,
    after: `
      assert.equal(session.hasMemory, true)
      assert.equal((await session.memoryRecent(10)).length, 2)
      assert.ok((await session.recallSimilar('docs memory', 5)).length > 0)
      assert.equal((await session.recallByTags(['grep'], 10)).length, 1)
      assert.ok(!('recallRecent' in session))`,
  },
  '001-15-skills.js': {
    before: `
      const { agent, workspace } = await open(undefined, {
        'skills/release/SKILL.md': '---\\nname: release\\ndescription: Finds release blockers.\\nallowed-tools: read\\n---\\nLook for blockers.\\n',
      })`,
    after: `
      const search = async (/** @type {string} */ query) => (await session.tool('search_skills', { query, limit: 5 })).output
      assert.match(await search('release blockers'), /release/)
      assert.match(await search('strict release review'), /strict-release-review/)`,
  },
  '001-16-side-question.js': {
    before: `
      const { agent, workspace } = await open()
      const session = agent.session(workspace)`,
    after: `
      assert.equal(side.question, 'What is this test?')
      assert.equal(side.answer, 'A short answer.')
      assert.deepEqual(session.history(), [])`,
  },
  '001-17-runs.js': {
    before: `
      const { agent, workspace } = await open([{ toolCalls: [{ name: 'read', args: { file_path: 'README.md' } }] }, 'Done.'])
      const session = agent.session(workspace)
      await session.send('Hello')`,
    after: `
      assert.equal(runs.length, 1)
      assert.equal(latest?.status, 'completed')
      assert.ok((await session.runEvents(latest?.id ?? '')).length > 2)
      assert.ok(session.traceEvents().length > 0)`,
  },
  '001-18-persistence.js': {
    before: `const { agent, workspace, sessionDir } = await open()`,
    after: `
      assert.deepEqual(resumed.history(), [])
      assert.equal(resumed.sessionId, 'docs-contract')`,
  },
  '001-19-close.js': {
    before: `
      const { agent, workspace } = await open()
      const one = agent.session(workspace, { sessionId: 'session-a' })
      agent.session(workspace, { sessionId: 'session-b' })
      assert.deepEqual((await agent.listSessions()).toSorted(), ['session-a', 'session-b'])`,
    after: `
      assert.equal(one.isClosed, true)
      await assert.rejects(one.send('Hello'), /Session closed/)
      assert.throws(() => agent.session(workspace), /Session closed/)
      await agent.close()`,
  },
  '001-20-delegation.js': {
    before: `
      const { agent, workspace, server } = await open()
      const session = agent.session(workspace)`,
    after: `
      const bodies = bodiesOf(server).join()
      for (const prompt of ['Return a short response.', 'Return one response.', 'Return another response.'])
        assert.ok(bodies.includes(prompt))`,
  },
  '001-21-hooks.js': {
    before: `
      const { agent, workspace } = await open()
      const session = agent.session(workspace)`,
    after: `assert.equal(session.hookCount(), 0)`,
  },
  '001-22-commands.js': {
    before: `
      const { agent, workspace } = await open()
      const session = agent.session(workspace)`,
    after: `
      assert.ok(session.listCommands().some(({ name }) => name === 'docs_status'))
      assert.equal(result.text, \`status args=check; session=\${session.sessionId}; workspace=\${session.workspace}\`)`,
  },
  '001-23-queue.js': {
    before: `const { agent, workspace } = await open()`,
    after: `
      assert.equal(queued.hasQueue(), true)
      assert.deepEqual(await queued.pendingExternalTasks(), [])
      assert.deepEqual(await queued.deadLetters(), [])
      assert.equal(agent.session(workspace).hasQueue(), false)`,
  },
  '001-24-mcp.js': {
    before: `
      const { agent, workspace } = await open(undefined, { 'tools/mcp_echo_server.mjs': echoServer })
      const session = agent.session(workspace)`,
    after: `
      assert.equal(count, 1)
      assert.deepEqual(session.toolNames().filter((name) => name.startsWith('mcp__echo__')), [])`,
  },
  '001-25-transports.js': {
    before: ``,
    after: `
      assert.equal(new HttpTransport('http://localhost:8080/ahp', 'token').kind, 'http')
      assert.equal(new WebSocketTransport('ws://localhost:8080/ahp', 'token').kind, 'websocket')
      assert.equal(new StdioTransport('node', ['server.mjs']).kind, 'stdio')
      assert.equal(new UnixSocketTransport('/tmp/a3s.sock').kind, 'unix_socket')`,
  },
  '001-26-identity.js': {
    before: `const { agent, workspace, sessionDir } = await open()`,
    after: `
      assert.equal(session.tenantId, 'acme-prod')
      assert.equal(session.correlationId, 'trace-1234abcd')
      await session.send('Hello')
      const { sessionId } = session
      await session.close()
      const resumed = agent.resumeSession(sessionId, { sessionStore: new FileSessionStore(sessionDir), tenantId: 'other' })
      assert.equal(resumed.principal, 'svc-deploy-bot')
      assert.equal(resumed.agentTemplateId, 'ci-runner-v7')
      assert.equal(resumed.tenantId, 'other')`,
    paths: { "'./sessions'": 'sessionDir' },
  },
  '001-28-resume-run.js': {
    before: `
      const nodeA = await open([{ toolCalls: [{ name: 'read', args: { file_path: 'README.md' } }] }, { stall: true }])
      let given = 0
      const idGenerator = { next: () => (given++ === 0 ? 'run-id-from-node-a' : \`id-\${given}\`) }
      const before = nodeA.agent.session(nodeA.workspace, {
        sessionStore: new FileSessionStore(nodeA.sessionDir),
        sessionId: 'session-from-node-a',
        hostEnv: { idGenerator },
      })
      const cut = before.send('Read it.').catch(() => undefined)
      while (nodeA.server.requests.length < 2) await new Promise((resolve) => setTimeout(resolve, 10))
      // The store as node A leaves it when it dies in its second round, and its lease has run out.
      const { agent: agentB, workspace, sessionDir } = await open(() => 'Resumed.')
      fs.cpSync(nodeA.sessionDir, sessionDir, { recursive: true, filter: (file) => !file.includes('lease') })
      before.cancel()
      await cut`,
    after: `
      assert.equal(result.text, 'Resumed.')
      assert.notEqual(result.runId, 'run-id-from-node-a')
      await assert.rejects(session.resumeRun('X'), /no loop checkpoint found for run 'X'/)
      await assert.rejects(agentB.session(workspace).resumeRun('X'), /resume_run requires a session_store/)`,
    paths: { "'./sessions'": 'sessionDir' },
  },
  '001-31-idle-mcp.js': {
    before: `
      const { agent } = await open()
      /** @type {unknown[]} */
      const made = []
      const setInterval = (/** @type {() => Promise<void>} */ work, /** @type {number} */ ms) => made.push(work(), ms)`,
    after: `
      assert.equal(made[1], 60_000)
      await made[0]`,
  },
  '001-34-budget-guard.js': {
    before: `
      const { agent, workspace } = await open()
      const session = agent.session(workspace)
      let over = false
      let used = 0
      const overBudget = (/** @type {string} */ sessionId) => sessionId === session.sessionId && over
      const track = (/** @type {string} */ _sessionId, /** @type {number} */ tokens) => (used += tokens)`,
    after: `
      await session.send('Hello')
      assert.ok(used > 0)
      over = true
      await assert.rejects(session.send('Hello'), /Budget exhausted/)
      session.setBudgetGuard(null)
      assert.equal((await session.send('Hello')).text, 'A short answer.')`,
  },
  '001-03-storage.acl': {
    asText: true,
    before: `
      const { aclSource, base, workspace } = await open()
      const agent = await Agent.create(aclSource + sample.replace('/tmp/a3s-doc-stores/acl-storage', path.join(base, 'acl-storage')))
      closeLater(agent)`,
    after: `
      const session = agent.session(workspace, { sessionId: 'stored' })
      await session.send('Hello')
      await session.save()
      assert.ok(fs.readdirSync(path.join(base, 'acl-storage')).length > 0)
      await session.close()
      assert.equal(agent.resumeSession('stored').history().length, 2)`,
  },
  '001-11-agents-file.md': {
    asText: true,
    before: `const { agent, workspace, server } = await open(undefined, { 'AGENTS.md': sample })`,
    after: `
      await agent.session(workspace).send('What are the project instructions?')
      assert.match(bodiesOf(server).join(), /docs-contract-agents-md-token/)`,
  },
  '001-30-retention.rs': {
    asText: true,
    before: `
      const { agent, workspace } = await open()
      /** @type {Record<string, number>} */
      const retentionLimits = {}
      for (const [, name = '', cap = ''] of sample.matchAll(/with_(max_\\w+)\\(([\\d_]+)\\)/g))
        retentionLimits[name.replace(/_(\\w)/g, (_, letter) => letter.toUpperCase())] = Number(cap.replace('_', ''))`,
    after: `
      assert.equal(Object.keys(retentionLimits).length, 4)
      const session = agent.session(workspace, { retentionLimits })
      assert.equal(session.initWarning ?? '', '')
      await session.send('Hello')`,
  },
  '002-02-github.md': {
    asText: true,
    before: `
      const { agent, base, workspace } = await open([{ toolCalls: [{ name: 'mcp__github__echo', args: { message: 'issues' } }] }, 'Done.'])
      write(base, {
        'release-agent/instructions.md': 'You prepare releases.',
        'release-agent/schedules/weekly.md': '---\\ncron: "0 0 1 1 *"\\n---\\nGo.\\n',
        'release-agent/tools/github.md': sample,
      })`,
    after: `
      const served = await agent.serveAgentDir(path.join(base, 'release-agent'), workspace, { permissionPolicy: { allow: ['mcp__github__*'] } })
      const fired = await served.runNow('weekly')
      assert.equal(fired.status, 'completed')
      const session = served.session('weekly')
      assert.ok(session?.toolNames().includes('mcp__github__echo'))
      assert.match(JSON.stringify(session?.history()), /Echo: issues/)
      await served.stop()`,
  },
  '002-03-search-auth.md': {
    asText: true,
    before: `
      const { agent, base, workspace } = await open(
        [{ toolCalls: [{ name: 'search-auth', args: { inputs: { query: 'PermissionPolicy' } } }] }, 'Done.'],
        { 'scripts/search-auth.js': sampleText('000-06-search-auth.js'), 'crates/core/src/policy.rs': 'struct PermissionPolicy;\\n' },
      )
      write(base, {
        'release-agent/instructions.md': 'You prepare releases.',
        'release-agent/schedules/weekly.md': '---\\ncron: "0 0 1 1 *"\\n---\\nGo.\\n',
        'release-agent/tools/search-auth.md': sample,
      })`,
    after: `
      const served = await agent.serveAgentDir(path.join(base, 'release-agent'), workspace)
      const fired = await served.runNow('weekly')
      assert.equal(fired.status, 'completed')
      const session = served.session('weekly')
      assert.match(JSON.stringify(session?.history()), /Found 1 candidate files for PermissionPolicy/)
      const tool = session?.toolDefinitions().find(({ name }) => name === 'search-auth')
      assert.match(tool?.description ?? '', /Find authentication-related files/)
      await served.stop()`,
  },
}

/** The samples that describe types. They are compiled, and compared with the types of the package (shapes.ts). */
export const shapes: readonly string[] = [
  '003-01-question.txt',
  '003-02-web-search.txt',
  '003-03-requirements.txt',
  '003-04-envelope.txt',
  '003-05-truncated.txt',
  '004-01-tool.ts',
  '004-02-create-tool.ts',
  '004-03-approval.ts',
  '004-04-middleware.ts',
  '004-05-tool-set.ts',
  '004-06-dynamic-tools.ts',
  '004-07-think-tool.ts',
  '004-08-serialization.ts',
  '004-09-errors.ts',
]

/** The samples that nothing can run, with the reason. */
export const notRun: Readonly<Record<string, string>> = {
  '000-05-turns.txt': 'a line of prose',
  '000-06-search-auth.js': 'a file of the workspace, which 000-07-program.js and 002-03-search-auth.md run',
  '001-01-contract-script.sh': 'starts a script of the other system, of which the page has only the name',
  '001-27-budget-guard.rs': 'Rust; 001-34-budget-guard.js is the same for JavaScript',
  '001-29-resume-run.py': 'Python; 001-28-resume-run.js is the same for JavaScript',
  '001-32-idle-mcp.py': 'Python; 001-31-idle-mcp.js is the same for JavaScript',
  '001-33-budget-guard.py': 'Python; 001-34-budget-guard.js is the same for JavaScript',
  '002-01-directory.txt': 'a drawing of the directory that 002-02-github.md runs in',
}
