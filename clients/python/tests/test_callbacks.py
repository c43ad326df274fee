"""Code of the user that takes part in a run: tools, approvals, questions, guards, hooks, commands."""

from __future__ import annotations

import dataclasses
import enum
import json
import os
import threading
from typing import Annotated, Any, Dict, List, Literal, Optional

from capstan import CapstanError, Tool, ToolContext, tool

from .support import LONG, CapstanTest, tool_results

ALLOW_ALL = {"default_decision": "allow"}


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


class ToolTest(CapstanTest):
    def test_type_hints_become_a_schema_and_values_of_their_types(self) -> None:
        given: List[Any] = []

        @tool
        def paint(
            name: Annotated[str, "Who paints."],
            colour: Colour,
            at: Point,
            size: Literal["small", "large"] = "small",
            tags: Optional[List[str]] = None,
        ) -> Dict[str, Any]:
            """Paint a point.

            More that models do not read.
            """
            given.append((name, colour, at, size, tags))
            return {"painted": colour.value}

        self.assertEqual(paint.description, "Paint a point.")
        self.assertEqual(paint.parameters["properties"]["name"], {"type": "string", "description": "Who paints."})
        self.assertEqual(paint.parameters["required"], ["name", "colour", "at"])
        args = {"name": "Ada", "colour": "blue", "at": {"x": 1}, "tags": ["a"]}
        session = self.scripted({"tool": "paint", "args": args}, "Painted.", tools=[paint], permission_policy=ALLOW_ALL)
        self.assertEqual(session.send("Paint.").text, "Painted.")
        self.assertEqual(given, [("Ada", Colour.BLUE, Point(1, 0), "small", ["a"])])
        self.assertEqual(json.loads(tool_results(self.asked()[-1])[0]), {"painted": "blue"})
        wrong = session.tool("paint", {"name": "Ada", "colour": "green", "at": {"x": 1}})
        self.assertEqual((wrong.exit_code, len(given)), (1, 1))
        self.assertEqual(paint("Bob", Colour.RED, Point(0)), {"painted": "red"})

    def test_a_tool_passes_the_gate_like_every_other_one(self) -> None:
        calls: List[str] = []

        def launch(target: str) -> str:
            """Launch something."""
            calls.append(target)
            return "launched"

        script = [{"tool": "launch", "args": {"target": "moon"}}, "Done."]
        agent = self.agent(*script)
        model = self.model(*script)
        # No rule covers it and no user can be asked.
        agent.session(self.workspace, tools=[launch]).send("Launch.")
        # A rule denies it.
        model.script = list(script)
        agent.session(self.workspace, tools=[launch], permission_policy={"deny": ["launch"]}).send("Launch.")
        # A user rejects it.
        model.script = list(script)
        rejecting = agent.session(self.workspace, tools=[launch], on_ask=lambda request: "not today")
        rejecting.send("Launch.")
        self.assertEqual(calls, [])
        self.assertIn("not today", tool_results(model.requests[-1])[0])
        # A user approves it.
        model.script = list(script)
        asked: List[Any] = []

        def approve(request: Any) -> bool:
            asked.append((request.tool_name, request.args))
            return True

        agent.session(self.workspace, tools=[launch], on_ask=approve).send("Launch.")
        self.assertEqual((calls, asked), (["moon"], [("launch", {"target": "moon"})]))

    def test_an_error_of_a_tool_is_a_result_that_the_model_reads(self) -> None:
        def fail() -> None:
            raise ValueError("the mast is broken")

        session = self.scripted("Unused.")
        session.register_tool(Tool(fail, idempotent=True))
        result = session.tool("fail")
        self.assertEqual((result.exit_code, result.output), (1, "the mast is broken"))
        self.assertTrue(session.unregister_tool("fail"))
        self.assertIn("Unknown tool", session.tool("fail").output)

        def strange() -> Any:
            return object()

        session.register_tool(strange)
        self.assertEqual(session.tool("strange").exit_code, 1)

    def test_callbacks_can_call_the_session_also_many_at_once(self) -> None:
        depth = 40

        def nested(level: int, context: ToolContext) -> str:
            """Call the session from inside a call of it."""
            if level == depth:
                return context.session.bash("printf deep")
            return context.session.tool("nested", {"level": level + 1}).output

        session = self.scripted("Unused.", tools=[nested])
        self.assertEqual(session.tool("nested", {"level": 0}).output, "deep")

    def test_a_callback_cannot_wait_for_a_run_that_waits_for_it(self) -> None:
        codes: List[str] = []

        def again(context: ToolContext) -> str:
            """Send another prompt."""
            try:
                context.session.send("Again.")
            except CapstanError as error:
                codes.append(error.code)
            return "no"

        session = self.scripted({"tool": "again"}, "Done.", tools=[again], permission_policy=ALLOW_ALL)
        self.assertEqual(session.send("Go.").text, "Done.")
        self.assertEqual(codes, ["session_busy"])

    def test_cancelling_the_run_reaches_the_tool_and_progress_reaches_the_reader(self) -> None:
        cancelled = threading.Event()

        def slow(context: ToolContext) -> str:
            """Take long."""
            context.progress("half")
            if context.wait(LONG):
                cancelled.set()
            return "over"

        session = self.scripted({"tool": "slow"}, "Done.", tools=[slow], permission_policy=ALLOW_ALL)
        with session.stream("Go.") as stream:
            for event in stream:
                if event.type == "tool_output_delta":
                    self.assertIn("half", event.text)
                    break
        self.assertTrue(cancelled.wait(LONG))

    def test_async_tools_run_on_the_loop(self) -> None:
        import asyncio

        async def later() -> str:
            """Answer later."""
            await asyncio.sleep(0)
            return "later"

        self.assertEqual(self.scripted("Unused.", tools=[later]).tool("later").output, "later")


class CallbackTest(CapstanTest):
    def test_a_guard_records_usage_and_its_errors_allow(self) -> None:
        usage: List[Any] = []

        class Guard:
            def check_before_llm(self, session_id: str, estimated_tokens: int) -> Any:
                raise OSError("the counter is down")

            def record_after_llm(self, session_id: str, used: Dict[str, Any]) -> None:
                usage.append((session_id, used["total_tokens"]))

        session = self.scripted("Allowed.", "Soft.", "Gone.", budget_guard=Guard())
        self.assertEqual(session.send("Spend.").text, "Allowed.")
        self.assertEqual(usage, [(session.session_id, 5)])

        class Soft:
            def check_before_llm(self, session_id: str, estimated_tokens: int) -> Any:
                return {"decision": "soft", "resource": "llm_tokens", "consumed": 8, "limit": 10}

            def check_before_tool(self, session_id: str, tool_name: str) -> Any:
                return {"decision": "deny", "resource": "tools", "reason": f"no {tool_name}"}

        session.set_budget_guard(Soft())
        events = list(session.stream("Spend."))
        self.assertEqual([event.kind for event in events if event.type == "budget_threshold_hit"], ["soft"])
        self.assertIn("no bash", session.tool("bash", {"command": "true"}).output)
        session.set_budget_guard(None)
        self.assertEqual(session.send("Spend.").text, "Gone.")
        self.assertEqual(len(usage), 1)

    def test_questions_are_answered_by_a_callback(self) -> None:
        asked: List[str] = []

        def answer(questions: Any) -> List[str]:
            asked.extend(question.question for question in questions)
            return ["blue"]

        question = {"question": "Which colour?", "options": [{"label": "red"}, {"label": "blue"}]}
        session = self.scripted(
            {"tool": "question", "args": {"questions": [question]}}, "Blue it is.", on_question=answer
        )
        self.assertEqual(session.send("Ask.").text, "Blue it is.")
        self.assertEqual(asked, ["Which colour?"])
        self.assertIn("blue", tool_results(self.asked()[-1])[0])

    def test_hooks_block_change_and_observe(self) -> None:
        seen: List[str] = []

        def guard(event: Dict[str, Any]) -> Any:
            seen.append(event["payload"]["tool"])
            return {"action": "block", "reason": "not on Mondays"}

        def rewrite(event: Dict[str, Any]) -> Any:
            return {"action": "continue", "modified": {"prompt": "Another prompt."}}

        hooks = [{"id": "rewrite", "event": "pre_prompt", "handler": rewrite}]
        script = [{"tool": "bash", "args": {"command": "touch made"}}, "Done."]
        session = self.scripted(*script, hooks=hooks, permission_policy=ALLOW_ALL)
        model = self.model(*script)
        session.register_hook("guard", "pre_tool_use", guard, matcher={"tool": "bash"}, config={"timeout_ms": 60_000})
        self.assertEqual(session.hook_count(), 2)
        session.send("A prompt.")
        self.assertIn("Another prompt.", str(model.requests[0]["messages"]))
        self.assertEqual(seen, ["bash"])
        self.assertIn("not on Mondays", tool_results(model.requests[-1])[0])
        self.assertFalse(os.path.exists(os.path.join(self.workspace, "made")))
        self.assertTrue(session.unregister_hook("guard"))

        def broken(event: Dict[str, Any]) -> Any:
            raise RuntimeError("broken guard")

        # A guard that fails stops the call.
        session.register_hook("broken", "pre_tool_use", broken)
        model.script = [{"tool": "bash", "args": {"command": "touch made"}}, "Done."]
        session.send("A prompt.")
        self.assertFalse(os.path.exists(os.path.join(self.workspace, "made")))

    def test_commands_answer_without_the_model(self) -> None:
        session = self.scripted()
        session.register_command("status", "Say how it is.", lambda args, context: f"{args}: {context.session_id}")
        self.assertEqual(session.send("/status now").text, f"now: {session.session_id}")
        self.assertIn("status", [command.name for command in session.list_commands()])
