"""The Python of the documentation that this package supports, as written there."""

from __future__ import annotations

import os
import textwrap
from typing import Any, Dict, List

from capstan import Agent, BudgetExhaustedError, CapstanError, FileSessionStore, SessionOptions

from .support import CapstanTest

RESUME = """
# Python equivalent
opts = SessionOptions()
opts.session_store = FileSessionStore('./sessions')
opts.session_id = 'session-from-node-a'
session = agent_b.session(workspace, opts)
result = session.resume_run('run-id-from-node-a')
"""

IDLE = """
# Python — same shape.
dropped = agent.disconnect_idle_mcp(5 * 60 * 1000)
"""

GUARD = """
# Python — attach via SessionOptions before agent.session(...)
class MyGuard:
    def check_before_llm(self, session_id, estimated_tokens):
        return {"decision": "deny", "resource": "llm_tokens", "reason": "cap"}
    def record_after_llm(self, session_id, usage):
        track(session_id, usage["total_tokens"])

opts = SessionOptions()
opts.budget_guard = MyGuard()
session = agent.session(workspace, opts)
"""


class SeedTest(CapstanTest):
    def setUp(self) -> None:
        super().setUp()
        # The samples name ./sessions.
        before = os.getcwd()
        os.chdir(self.base)
        self.addCleanup(os.chdir, before)

    def run_sample(self, sample: str, **names: Any) -> Dict[str, Any]:
        known: Dict[str, Any] = {
            "SessionOptions": SessionOptions,
            "FileSessionStore": FileSessionStore,
            "workspace": self.workspace,
            **names,
        }
        exec(textwrap.dedent(sample), known)
        return known

    def test_resumes_the_run_of_a_process_that_ended(self) -> None:
        self.write("a.txt", "fair wind\n")
        model = self.model({"tool": "read", "args": {"file_path": "a.txt"}}, lambda _: agent_a_ends())
        agent_a = Agent.create(model.acl, user_dir=os.path.join(self.base, "user"))

        def agent_a_ends() -> str:
            agent_a._inner._link._connection._process.kill()
            return "This has no reader."

        options = SessionOptions(session_store=FileSessionStore("./sessions"), session_id="session-from-node-a")
        session = agent_a.session(self.workspace, options)
        with self.assertRaises(CapstanError) as ended:
            session.send("What is in a.txt?", run_id="run-id-from-node-a")
        self.assertEqual(ended.exception.code, "process_ended")

        agent_b = self.own_agent("A fair wind.")
        result = self.run_sample(RESUME, agent_b=agent_b)["result"]
        self.assertEqual(result.text, "A fair wind.")
        self.assertNotEqual(result.run_id, "run-id-from-node-a")
        self.assertEqual(result.tool_calls_count, 1)

    def test_says_which_of_the_two_errors_of_resume_run_it_is(self) -> None:
        agent = self.agent()
        with self.assertRaises(CapstanError) as missing:
            agent.session(self.workspace).resume_run("X")
        self.assertEqual(str(missing.exception), "resume_run requires a session_store")
        with self.assertRaises(CapstanError) as missing:
            self.run_sample(RESUME, agent_b=agent)
        self.assertIn("no loop checkpoint found for run 'run-id-from-node-a'", str(missing.exception))

    def test_disconnects_idle_mcp_servers(self) -> None:
        self.assertEqual(self.run_sample(IDLE, agent=self.agent())["dropped"], [])

    def test_a_denied_budget_raises_runtime_error(self) -> None:
        tracked: List[Any] = []
        agent = self.agent("Never asked.")
        session = self.run_sample(GUARD, agent=agent, track=lambda *args: tracked.append(args))["session"]
        with self.assertRaisesRegex(RuntimeError, "^Budget exhausted") as denied:
            session.send("Spend.")
        self.assertIsInstance(denied.exception, BudgetExhaustedError)
        self.assertIsInstance(denied.exception, CapstanError)
        self.assertEqual((denied.exception.code, denied.exception.resource), ("budget_exhausted", "llm_tokens"))
        self.assertEqual(tracked, [])
        # To clear: None and a new session.
        opts = SessionOptions()
        opts.budget_guard = None
        self.assertEqual(agent.session(self.workspace, opts).send("Spend.").text, "Never asked.")
