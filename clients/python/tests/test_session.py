"""Sessions in a real Capstan process: runs, results, streams, direct calls, life cycle."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any, Callable, List

from capstan import Agent, CapstanError, MemorySessionStore, SessionOptions, _loop, aio

from capstan._launch import find_command

from .support import LONG, CapstanTest


class SessionTest(CapstanTest):
    def test_a_result_has_snake_case_attributes_and_the_raw_object(self) -> None:
        session = self.scripted("Aye, aye.")
        result = session.send("Set sail.")
        self.assertEqual(result.text, "Aye, aye.")
        self.assertEqual((result.prompt_tokens, result.completion_tokens, result.total_tokens), (3, 2, 5))
        self.assertEqual((result.tool_calls_count, result.rounds, result.finish), (0, 1, "stop"))
        self.assertEqual(result.verification_status, "skipped")
        self.assertEqual(result.raw["totalTokens"], result["total_tokens"])
        self.assertIsNone(result.cost_usd)
        with self.assertRaises(AttributeError):
            result.total_token
        self.assertEqual([block.text for block in session.history()[1].content], ["Aye, aye."])
        [run] = session.runs()
        self.assertEqual((run.id, run.status), (result.run_id, "completed"))
        self.assertEqual(session.run_snapshot(run.id).status, "completed")
        self.assertEqual(session.run_events(run.id)[-1].event.type, "agent_end")
        self.assertIsNone(session.current_run())
        self.assertEqual(session.spending().usage.total_tokens, 5)

    def test_streams_events_and_closing_the_stream_cancels_the_run(self) -> None:
        session = self.scripted("Land in sight!")
        model = self.model("Land in sight!")
        events = list(session.stream("What do you see?"))
        self.assertEqual(events[0].type, "agent_start")
        self.assertEqual("".join(event.text or "" for event in events), "Land in sight!")
        self.assertEqual(events[-1].result.text, "Land in sight!")
        self.assertIsNone(events[-1].tool_name)
        with self.assertRaises(AttributeError):
            events[-1].no_such_field

        model.script = [model.hold("Too late.")]
        with session.stream("Wait.") as stream:
            self.assertEqual(next(stream).type, "agent_start")
        until(lambda: [run.status for run in session.runs()] == ["completed", "cancelled"])
        model.released.set()

    def test_direct_calls_reach_the_workspace_and_report_failures(self) -> None:
        session = self.scripted()
        self.assertEqual(session.write_file("a.txt", "one\ntwo\n").exit_code, 0)
        self.assertEqual(session.read_file("a.txt"), "one\ntwo\n")
        self.assertEqual(session.read_file("a.txt", offset=1, limit=1).strip(), "two")
        self.assertEqual(session.glob("*.txt"), ["a.txt"])
        self.assertIn("a.txt", session.grep("two"))
        self.assertEqual(session.bash("printf hi"), "hi")
        result = session.tool("bash", {"command": "exit 3"})
        self.assertEqual((result.exit_code, result.metadata["exit_code"]), (3, 3))
        session.edit_file("a.txt", "two", "three")
        self.assertEqual(session.read_file("a.txt"), "one\nthree\n")
        self.assertEqual(session.tool("no_such_tool", {}).exit_code, 1)
        with self.assertRaises(CapstanError):
            session.read_file("missing.txt")
        program = session.program(
            "export default async function run(ctx, inputs) { return { n: inputs.some_key + 1 } }",
            inputs={"some_key": 41},
            allowed_tools=["read"],
            limits={"timeout_ms": 60_000},
        )
        self.assertEqual(program.metadata["script_result"], {"n": 42})
        self.assertIn("read", session.tool_names())
        self.assertEqual(next(one for one in session.tool_definitions() if one.name == "read").kind, "read")

    def test_verifies_delegates_and_generates_objects(self) -> None:
        session = self.scripted("Delegated.", '{"mood": "good"}')
        report = session.verify_commands("release", [{"id": "echo", "kind": "command", "command": "printf ok"}])
        self.assertEqual((report.subject, report.status), ("release", "passed"))
        self.assertEqual(session.verification_summary().report_count, 1)
        self.assertIn("passed", session.verification_summary_text())
        self.assertIn("Delegated.", session.task(agent="general", description="d", prompt="Do it.", max_steps=1).output)
        schema = {"type": "object", "properties": {"mood": {"type": "string"}}, "required": ["mood"]}
        self.assertEqual(session.generate_object(schema, "Classify.", mode="prompt").object, {"mood": "good"})

    def test_options_are_checked_before_and_in_the_process(self) -> None:
        with self.assertRaisesRegex(AttributeError, "max_tool_rounds"):
            SessionOptions(max_tool_round=3)
        agent = self.agent()
        with self.assertRaises(CapstanError) as refused:
            agent.session(self.workspace, max_tool_rounds=-1)
        self.assertEqual((refused.exception.code, refused.exception.details["option"]), ("session_option", "maxToolRounds"))
        with self.assertRaises(CapstanError) as refused:
            agent.session(os.path.join(self.base, "missing"))
        self.assertEqual(refused.exception.code, "workspace_unusable")
        labels = agent.session(self.workspace, tenant_id="acme", correlation_id="trace")
        self.assertEqual((labels.tenant_id, labels.correlation_id, labels.principal), ("acme", "trace", None))
        self.assertEqual(labels.workspace, self.workspace)

    def test_sessions_are_resumed_forked_listed_and_closed(self) -> None:
        agent = self.own_agent("One.", "Two.")
        store = MemorySessionStore()
        session = agent.session(self.workspace, session_store=store, session_id="s1")
        session.send("First.")
        self.assertEqual(agent.list_sessions(), ["s1"])
        fork = agent.fork_session(session)
        self.assertEqual(len(fork.history()), 2)
        fork.close()
        session.close()
        self.assertTrue(session.is_closed)
        with self.assertRaises(CapstanError) as closed:
            session.send("Again.")
        self.assertEqual(closed.exception.code, "session_closed")
        self.assertIn("Session closed", str(closed.exception))
        with agent.resume_session("s1", session_store=store) as resumed:
            self.assertEqual(resumed.send("Second.").text, "Two.")
            self.assertEqual(len(resumed.history()), 4)
        self.assertFalse(agent.close_session("s1"))
        agent.close()
        agent.close()
        with self.assertRaises(CapstanError) as closed:
            agent.session(self.workspace)
        self.assertEqual(closed.exception.code, "session_closed")

    def test_lines_of_many_megabytes_pass_in_both_directions(self) -> None:
        session = self.scripted("Short.")
        text = "0123456789abcdef" * 300_000 + "é\u2028"
        session.write_file("big.txt", text)
        self.assertEqual(session.read_file("big.txt"), text)

    def test_a_killed_process_fails_every_pending_call_with_a_clear_error(self) -> None:
        agent = self.own_agent()
        model = self.model()
        model.script = [model.hold("Too late.")] * 2
        sessions = [agent.session(self.workspace) for _ in range(2)]
        errors: List[CapstanError] = []

        def send(session: Any) -> None:
            try:
                session.send("Wait.")
            except CapstanError as error:
                errors.append(error)

        threads = [threading.Thread(target=send, args=(session,)) for session in sessions]
        for thread in threads:
            thread.start()
        self.assertTrue(model.asked.wait(LONG))
        process = agent._inner._link._connection._process
        process.send_signal(signal.SIGKILL)
        for thread in threads:
            thread.join(LONG)
        model.released.set()
        self.assertEqual([error.code for error in errors], ["process_ended"] * 2)
        self.assertIn("signal 9", str(errors[0]))
        with self.assertRaises(CapstanError) as after:
            sessions[0].history()
        self.assertEqual(after.exception.code, "process_ended")

    def test_an_interrupt_cancels_the_run_and_the_session_stays_usable(self) -> None:
        session = self.scripted()
        model = self.model()

        def interrupt(_: Any) -> str:
            os.kill(os.getpid(), signal.SIGINT)
            model.released.wait(LONG)
            return "Too late."

        model.script = [interrupt, "Again."]
        with self.assertRaises(KeyboardInterrupt):
            session.send("Wait.")
        until(lambda: session.runs()[0].status == "cancelled")
        model.released.set()
        self.assertEqual(session.send("Go.").text, "Again.")
        self.assertEqual([run.status for run in session.runs()], ["cancelled", "completed"])

    def test_an_interrupt_cancels_a_call_that_has_just_begun(self) -> None:
        loop = _loop._thread().loop
        begin = loop.call_soon_threadsafe
        begun = threading.Event()
        ended = threading.Event()

        async def wait_long() -> None:
            begun.set()
            try:
                await asyncio.sleep(LONG)
            except asyncio.CancelledError:
                ended.set()
                raise

        def interrupted(*words: Any, **named: Any) -> Any:
            loop.call_soon_threadsafe = begin  # type: ignore[method-assign]
            begin(*words, **named)
            begun.wait(LONG)
            raise KeyboardInterrupt

        loop.call_soon_threadsafe = interrupted  # type: ignore[method-assign]
        with self.assertRaises(KeyboardInterrupt):
            _loop.run(wait_long())
        self.assertTrue(ended.wait(LONG / 2))

    def test_nothing_is_left_of_a_program_that_is_killed(self) -> None:
        program = """
import capstan, sys, threading
agent = capstan.Agent.create(user_dir=sys.argv[1])
session = agent.session(sys.argv[2])
threading.Thread(target=session.bash, args=("echo $$ > shell.pid; sleep 1000",), daemon=True).start()
print(agent._inner._link._connection._process.pid, flush=True)
threading.Event().wait()
"""
        words = [sys.executable, "-c", program, os.path.join(self.base, "user"), self.workspace]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as child:
            pid = int(child.stdout.readline())  # type: ignore[union-attr]
            until(lambda: os.path.exists(os.path.join(self.workspace, "shell.pid")))
            child.kill()
        until(lambda: not is_alive(pid))

    def test_mcp_servers_are_added_and_disconnected(self) -> None:
        session = self.scripted()
        [program, *words] = find_command()
        self.assertEqual(session.add_mcp_server("files", "stdio", program, [*words, "mcp", "--tool", "ls"]), 1)
        [server] = session.mcp_status()
        self.assertEqual((server.name, server.connected), ("files", True))
        self.assertIn("mcp__files__ls", session.tool_names())
        self.assertEqual(self.agent().disconnect_idle_mcp(0), ["files"])
        self.assertTrue(session.remove_mcp_server("files"))

    def test_a_command_that_is_none_is_reported(self) -> None:
        with self.assertRaises(CapstanError) as failed:
            Agent.create(command="/no/such/capstan")
        self.assertEqual(failed.exception.code, "command_not_started")
        with self.assertRaises(CapstanError) as failed:
            Agent.create(command=["sh", "-c", "echo not the protocol; sleep 60"])
        self.assertEqual(failed.exception.code, "process_ended")
        self.assertIn("not the protocol", str(failed.exception))
        with self.assertRaises(CapstanError) as failed:
            Agent.create("providers { }", user_dir=self.base)
        self.assertNotEqual(failed.exception.code, "process_ended")


def until(holds: Callable[[], bool]) -> None:
    """Wait for something that another process does."""
    end = time.monotonic() + LONG
    while not holds():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        if os.path.exists("/proc/self/stat"):
            return False
    try:
        os.kill(pid, 0)
        return True
    except ProcessLookupError:
        return False


class AsyncTest(CapstanTest):
    def test_runs_sessions_at_the_same_time_and_cancels_by_the_task(self) -> None:
        model = self.model("One.", "Two.")

        async def work() -> None:
            async with await aio.Agent.create(model.acl, user_dir=self.base) as agent:
                sessions = [await agent.session(self.workspace) for _ in range(2)]
                results = await asyncio.gather(*(session.send("Count.") for session in sessions))
                self.assertEqual(sorted(result.text for result in results), ["One.", "Two."])
                model.script = [model.hold("Too late.")]
                model.asked.clear()
                sending = asyncio.ensure_future(sessions[0].send("Wait."))
                await asyncio.to_thread(model.asked.wait, LONG)
                sending.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await sending
                run_id = (await sessions[0].runs())[-1].id
                last = [one async for one in await sessions[0].watch(run_id)][-1]
                self.assertEqual(last.event.type, "agent_cancelled")
                model.released.set()
                model.script = ["A fair wind."]
                async with await sessions[0].stream("How is the wind?") as stream:
                    events = [event async for event in stream]
                self.assertEqual(events[-1].result.text, "A fair wind.")

        asyncio.run(work())
