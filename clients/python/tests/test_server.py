"""Agent.connect: the same classes over the HTTP API of a real server."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import threading
from typing import Any

from capstan import Agent, CapstanError, SessionOptions, aio
from capstan._launch import find_command

from .support import LONG, CapstanTest, Reply

TOKEN = "a-token-for-these-tests"


class ServerTest(CapstanTest):
    def serve(self, *script: Reply) -> str:
        model = self.model(*script)
        self.last_model = model
        config = os.path.join(self.base, "agent.acl")
        with open(config, "w", encoding="utf-8") as file:
            file.write(model.acl)
        words = [*find_command(), "server", "--port", "0", "--config", config, "--workspace", self.workspace]
        store = os.path.join(self.base, "store")
        # A home of its own, except for the compiled code.
        cache = os.path.expanduser("~/.capstan/cache")
        os.makedirs(os.path.join(self.base, ".capstan"), 0o700)
        if os.path.isdir(cache):
            os.symlink(cache, os.path.join(self.base, ".capstan", "cache"))
        env = {**os.environ, "CAPSTAN_SERVER_TOKEN": TOKEN, "HOME": self.base, "CAPSTAN_LOCAL_MODELS": ""}
        process = subprocess.Popen(
            [*words, "--store", store],
            env=env,
            cwd=self.workspace,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        drained = threading.Thread(target=process.stderr.read, daemon=True)  # type: ignore[union-attr]

        def stop() -> None:
            process.terminate()
            try:
                process.wait(LONG)
            except subprocess.TimeoutExpired:
                process.kill()
            for pipe in (process.stdout, process.stderr):
                pipe.close()  # type: ignore[union-attr]

        self.addCleanup(stop)
        for line in process.stdout:  # type: ignore[union-attr]
            found = re.search(r"http://[\w.:]+", line)
            if found:
                drained.start()
                return found[0]
        raise AssertionError(process.stderr.read())  # type: ignore[union-attr]

    def connect(self, *script: Reply) -> Agent:
        agent = Agent.connect(self.serve(*script), TOKEN)
        self.addCleanup(agent.close)
        return agent

    def test_sends_streams_and_reads_a_session_of_a_server(self) -> None:
        agent = self.connect("Land in sight!", "A fair wind.", "Aside.")
        session = agent.session(options=SessionOptions(title="Voyage"))
        self.assertEqual(session.workspace, self.workspace)
        result = session.send("What do you see?")
        self.assertEqual((result.text, result.total_tokens), ("Land in sight!", 5))
        events = list(session.stream("How is the wind?"))
        self.assertEqual("".join(event.text for event in events if event.type == "text_delta"), "A fair wind.")
        self.assertEqual(events[-1].result.text, "A fair wind.")
        self.assertEqual([message.role for message in session.history()], ["user", "assistant"] * 2)
        runs = session.runs()
        self.assertEqual([run.status for run in runs], ["completed", "completed"])
        watched = list(session.watch(runs[0].id))
        self.assertEqual(watched[-1].event.type, "agent_end")
        rest = list(session.watch(runs[0].id, watched[-2].sequence))
        self.assertEqual([one.sequence for one in rest], [watched[-1].sequence])
        self.assertIsNone(session.run_snapshot("no-such-run"))
        self.assertEqual(session.btw("Where are we?").answer, "Aside.")
        self.assertEqual(session.title(), "Voyage")
        session.set_title("Another")
        again = agent.resume_session(session.session_id)
        self.assertEqual(again.title(), "Another")
        self.assertIn(session.session_id, agent.list_sessions())
        self.assertIn("read", session.tool_names())

    def test_asks_the_client_about_a_call_and_about_a_question(self) -> None:
        asked: list[Any] = []

        def approve(request: Any) -> str:
            asked.append((request.tool_name, request.args["command"]))
            return "once"

        question = {"question": "Which colour?", "options": [{"label": "red"}, {"label": "blue"}]}
        agent = self.connect(
            {"tool": "bash", "args": {"command": "touch made.txt"}},
            {"tool": "question", "args": {"questions": [question]}},
            "Done.",
        )
        session = agent.session(on_ask=approve, on_question=lambda questions: [["blue"] for _ in questions])
        self.assertEqual(session.send("Make a file.").text, "Done.")
        self.assertEqual(asked, [("bash", "touch made.txt")])
        self.assertTrue(os.path.exists(os.path.join(self.workspace, "made.txt")))
        self.assertIn("blue", str(self.last_model.requests[-1]["messages"][-1]))

    def test_refuses_what_only_a_process_of_this_program_can_do(self) -> None:
        agent = self.connect()
        with self.assertRaises(CapstanError) as refused:
            agent.session(tools=[lambda: 1])
        self.assertEqual(refused.exception.code, "not_supported")
        session = agent.session()
        with self.assertRaises(CapstanError) as refused:
            session.skills()
        self.assertEqual(refused.exception.code, "not_supported")
        with self.assertRaises(CapstanError) as refused:
            agent.session(permission_policy={"allow": ["bash(*)"]})
        self.assertEqual(refused.exception.code, "option_not_allowed")
        with self.assertRaises(CapstanError) as refused:
            Agent.connect(f"http://{agent._inner._link._parts.netloc}", "a-wrong-token-for-it")
        self.assertEqual(refused.exception.code, "unauthorized")

    def test_cancelling_the_caller_cancels_the_run_on_the_server(self) -> None:
        url = self.serve()
        self.last_model.script = [self.last_model.hold("Too late.")]

        async def work() -> str:
            agent = await aio.Agent.connect(url, TOKEN)
            session = await agent.session()
            sending = asyncio.ensure_future(session.send("Wait."))
            await asyncio.to_thread(self.last_model.asked.wait, LONG)
            sending.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await sending
            [run] = await session.runs()
            async for one in await session.watch(run.id):
                last = one.event.type
            await agent.close()
            return last

        self.assertEqual(asyncio.run(work()), "agent_cancelled")


class AddressTest(CapstanTest):
    def test_an_address_that_is_none_is_refused(self) -> None:
        with self.assertRaises(CapstanError) as refused:
            Agent.connect("localhost:4747", TOKEN)
        self.assertEqual(refused.exception.code, "bad_url")
        with self.assertRaises(CapstanError) as refused:
            Agent.connect("http://127.0.0.1:9", TOKEN)
        self.assertEqual(refused.exception.code, "unreachable")
