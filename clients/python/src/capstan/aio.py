"""The package for asyncio: the same classes as in ``capstan``, with coroutines."""

from __future__ import annotations

import asyncio
import base64
import itertools
import os
from typing import Any, AsyncIterator, Callable, Dict, List, Mapping, Optional, Sequence, Union

from ._calls import call_user, is_inside
from ._errors import BudgetExhaustedError, CapstanError
from ._launch import Command, launch
from ._link import Link
from ._names import plain, snake, to_wire
from ._options import (
    SessionOptions,
    ask_answer,
    data_options,
    guard_wire,
    question_answers,
)
from ._records import (
    AgentResult,
    ApprovalRequest,
    Event,
    HistoryMessage,
    ObjectResult,
    Question,
    Record,
    RunEvent,
    RunSnapshot,
    SideAnswer,
    ToolInfo,
    ToolResult,
    records,
    wrap,
)
from ._tools import Tool, ToolContext, as_tool, result_data

Path = Union[str, "os.PathLike[str]"]
Options = Union[SessionOptions, Mapping[str, Any], None]

__all__ = ["Agent", "BudgetExhaustedError", "CapstanError", "EventStream", "Session", "SessionOptions"]


class Agent:
    """A configuration and its open sessions, in a separate Capstan process or on a server."""

    def __init__(self, link: Link, warnings: Sequence[str] = ()) -> None:
        self._link = link
        self._sessions: Dict[int, Session] = {}
        self._numbers = itertools.count(1)
        self._is_closed = False
        self.warnings: List[str] = list(warnings)

    @classmethod
    async def create(
        cls,
        source: Union[str, Mapping[str, Any], None] = None,
        *,
        cwd: Optional[Path] = None,
        env: Optional[Mapping[str, str]] = None,
        user_dir: Optional[Path] = None,
        command: Optional[Command] = None,
    ) -> "Agent":
        """Start a Capstan process and create an agent from ACL text, the path of an ``.acl`` file, or a dict.

        ``env`` is added to the environment of the process, ``command`` starts it instead of the command that is found.
        """
        return await cls._start(launch(command, env), source, cwd, user_dir)

    @classmethod
    async def _start(cls, process: Any, source: Any, cwd: Optional[Path], user_dir: Optional[Path]) -> "Agent":
        from ._stdio import StdioLink

        link = StdioLink(process)
        agent = cls(link)
        link.handle = agent._called
        try:
            await link.initialize()
            created = await link.request(
                "agent/create",
                {
                    "source": to_wire(source) if isinstance(source, Mapping) else source,
                    "cwd": os.path.abspath(os.fspath(cwd) if cwd is not None else os.curdir),
                    "userDir": None if user_dir is None else os.path.abspath(os.fspath(user_dir)),
                },
            )
        except BaseException:
            await link.close()
            raise
        agent.warnings.extend(created["warnings"])
        return agent

    @classmethod
    async def connect(cls, url: str, token: Optional[str] = None, *, timeout: float = 60.0) -> "Agent":
        """Connect to a Capstan server. Sessions and runs are on the server; ``timeout`` is in seconds per response."""
        from ._http import HttpLink

        link = HttpLink(url, token, timeout)
        await link.check()
        return cls(link)

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    async def session(self, workspace: Path = ".", options: Options = None, **fields: Any) -> "Session":
        """Open a session on a directory. Options can also be passed as keyword arguments."""
        return await self._open({"workspace": self._place(workspace)}, options, fields)

    async def session_for_agent(
        self,
        workspace: Path,
        name: str,
        agent_dirs: Sequence[Path] = (),
        options: Options = None,
        **fields: Any,
    ) -> "Session":
        """Open a session with the prompt, tools, rules and limits of a named agent."""
        params = {"kind": "agent", "workspace": self._place(workspace), "name": name, "agentDirs": plain(agent_dirs)}
        return await self._open(params, options, fields)

    async def session_for_worker(
        self, workspace: Path, spec: Mapping[str, Any], options: Options = None, **fields: Any
    ) -> "Session":
        """Open a session for a worker, which is an agent described by a short specification."""
        params = {"kind": "worker", "workspace": self._place(workspace), "spec": to_wire(dict(spec))}
        return await self._open(params, options, fields)

    async def resume_session(
        self, session_id: str, options: Options = None, *, workspace: Optional[Path] = None, **fields: Any
    ) -> "Session":
        """Resume a stored session with its history, todos, labels and settings. The given options take precedence."""
        params = {"kind": "resume", "sessionId": session_id, "workspace": self._place(workspace)}
        return await self._open(params, options, fields)

    async def fork_session(
        self,
        session: Union["Session", str],
        options: Options = None,
        *,
        from_message_id: Optional[str] = None,
        before_message_id: Optional[str] = None,
        workspace: Optional[Path] = None,
        **fields: Any,
    ) -> "Session":
        """Copy a session, up to its end or to a message, into a new one."""
        params = {
            "kind": "fork",
            "sessionId": session if isinstance(session, str) else session.session_id,
            "fromMessageId": from_message_id,
            "beforeMessageId": before_message_id,
            "workspace": self._place(workspace),
        }
        return await self._open(params, options, fields)

    async def list_sessions(self) -> List[str]:
        """Return the ids of the open sessions, sorted; on a server, those of the caller's stored sessions."""
        return await self._link.request("agent/listSessions", {})

    async def close_session(self, session_id: str) -> bool:
        """Close a session. Returns False when it is not open."""
        return await self._link.request("agent/closeSession", {"sessionId": session_id})

    async def refresh_mcp_tools(self) -> None:
        """List the tools of the configured MCP servers again."""
        await self._link.request("agent/refreshMcpTools", {})

    async def disconnect_idle_mcp(self, threshold_ms: float) -> List[str]:
        """Disconnect MCP servers that were not used for ``threshold_ms`` milliseconds. Returns their names."""
        return await self._link.request("agent/disconnectIdleMcp", {"thresholdMs": threshold_ms})

    async def describe(self) -> Dict[str, Any]:
        """Return the parsed configuration, with every secret hidden."""
        return await self._link.request("agent/describe", {})

    async def close(self) -> None:
        """Close every session and end the process. On a server, the sessions stay open."""
        if self._is_closed:
            return
        self._is_closed = True
        await self._link.close()

    async def __aenter__(self) -> "Agent":
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.close()

    def _place(self, workspace: Optional[Path]) -> Optional[str]:
        if workspace is None:
            return None
        path = os.fspath(workspace)
        return path if self._link.is_remote else os.path.abspath(path)

    async def _open(self, params: Dict[str, Any], options: Options, fields: Dict[str, Any]) -> "Session":
        if self._is_closed:
            raise CapstanError("Session closed: the agent is closed.", "session_closed")
        number = next(self._numbers)
        session = Session(self, number, _options(options, fields))
        self._sessions[number] = session
        try:
            opened = {"session": number, **params, "options": session._wire_options()}
            session._description = await self._link.open(session, {k: v for k, v in opened.items() if v is not None})
        except BaseException:
            del self._sessions[number]
            raise
        return session

    async def _called(self, method: str, params: Dict[str, Any]) -> Any:
        """Answer a request of the process, which calls code of the user."""
        session = self._sessions.get(params.get("session", 0))
        if session is None:
            raise CapstanError("The session is closed.", "session_closed")
        return await session._called(method, params)


def _options(options: Options, fields: Mapping[str, Any]) -> SessionOptions:
    base = options if isinstance(options, SessionOptions) else SessionOptions(**dict(options or {}))
    return base.copy(**fields)


class Session:
    """A conversation on a workspace. ``agent.session(...)`` opens one."""

    def __init__(self, agent: Agent, number: int, options: SessionOptions) -> None:
        self._agent = agent
        self._link = agent._link
        self._number = number
        self._options = options
        self._guard = options.budget_guard
        self._tools: Dict[str, Tool] = {}
        self._hooks: Dict[str, Callable[..., Any]] = {}
        self._commands: Dict[str, Callable[..., Any]] = {}
        self._is_closed = False
        self._description: Dict[str, Any] = {}

    # Properties

    @property
    def session_id(self) -> str:
        return self._description["sessionId"]

    @property
    def workspace(self) -> str:
        """The real path of the workspace."""
        return self._description["workspace"]

    @property
    def init_warning(self) -> Optional[str]:
        """Warnings about the options, or None."""
        return self._description.get("initWarning")

    @property
    def has_memory(self) -> bool:
        return bool(self._description.get("hasMemory"))

    @property
    def tenant_id(self) -> Optional[str]:
        return self._description.get("tenantId")

    @property
    def principal(self) -> Optional[str]:
        return self._description.get("principal")

    @property
    def agent_template_id(self) -> Optional[str]:
        return self._description.get("agentTemplateId")

    @property
    def correlation_id(self) -> Optional[str]:
        return self._description.get("correlationId")

    @property
    def is_closed(self) -> bool:
        return self._is_closed or self._agent.is_closed

    async def title(self) -> Optional[str]:
        return await self._call("title")

    async def set_title(self, title: str) -> None:
        await self._call("setTitle", title=title)

    async def save(self) -> None:
        """Wait until all records so far are on disk."""
        await self._call("save")

    async def close(self) -> None:
        """End the active run and close everything that belongs to the session."""
        if self.is_closed:
            return
        self._is_closed = True
        await self._link.request("session/close", {"session": self._number})
        self._agent._sessions.pop(self._number, None)

    async def suspend(self) -> None:
        """Close the session without ending its run, so that another process can resume it."""
        await self._call("suspend")
        self._is_closed = True

    async def __aenter__(self) -> "Session":
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.close()

    # Runs

    async def send(
        self,
        prompt: str,
        *,
        history: Optional[Sequence[Union[HistoryMessage, Mapping[str, Any]]]] = None,
        attachments: Optional[Sequence[Mapping[str, Any]]] = None,
        metadata: Optional[Mapping[str, Any]] = None,
        run_id: Optional[str] = None,
    ) -> AgentResult:
        """Send a prompt and wait for the answer. Cancelling the task cancels the run.

        With ``history``, the prompt is answered on top of that history, and the one of the session stays as it is.
        """
        return AgentResult(await self._call("send", **self._request(prompt, history, attachments, metadata, run_id)))

    async def stream(
        self,
        prompt: str,
        *,
        history: Optional[Sequence[Union[HistoryMessage, Mapping[str, Any]]]] = None,
        attachments: Optional[Sequence[Mapping[str, Any]]] = None,
        metadata: Optional[Mapping[str, Any]] = None,
        run_id: Optional[str] = None,
    ) -> "EventStream":
        """Send a prompt and return the events of the run. Closing the stream early cancels the run."""
        number = await self._call("stream", **self._request(prompt, history, attachments, metadata, run_id))
        return EventStream(self._link, number)

    async def watch(self, run_id: str, from_sequence: int = 0) -> "RunEventStream":
        """Follow a run from a sequence number without owning it: closing the stream does not cancel the run."""
        number = await self._call("watch", runId=run_id, **({"from": from_sequence} if from_sequence else {}))
        return RunEventStream(self._link, number)

    async def steer(self, text: str) -> bool:
        """Add a message to the active run. Returns False when no run is active."""
        return await self._call("steer", text=text)

    async def btw(self, question: str) -> SideAnswer:
        """Ask a side question. It is answered from the conversation without tools, and not added to the history."""
        return SideAnswer(await self._call("btw", question=question))

    async def cancel(self) -> bool:
        """Cancel the active run. Returns False when no run was active."""
        return await self._call("cancel")

    async def cancel_run(self, run_id: str) -> bool:
        return await self._call("cancelRun", runId=run_id)

    async def resume_run(self, run_id: str) -> AgentResult:
        """Continue a run whose process ended, from its last finished round, as a new run."""
        return AgentResult(await self._call("resumeRun", runId=run_id))

    async def runs(self) -> List[RunSnapshot]:
        return records(RunSnapshot, await self._call("runs"))

    async def run_snapshot(self, run_id: str) -> Optional[RunSnapshot]:
        return _optional(RunSnapshot, await self._call("runSnapshot", runId=run_id))

    async def run_events(self, run_id: str) -> List[RunEvent]:
        return records(RunEvent, await self._call("runEvents", runId=run_id))

    async def current_run(self) -> Optional[RunSnapshot]:
        return _optional(RunSnapshot, await self._call("currentRun"))

    async def trace_events(self) -> List[Record]:
        """Return how every tool call was decided and how it ended."""
        return wrap(await self._call("traceEvents"))

    async def spending(self) -> Record:
        """Return the tokens and the cost of all model requests of this session."""
        return wrap(await self._call("spending"))

    # Conversation and files

    async def history(self) -> List[HistoryMessage]:
        return records(HistoryMessage, await self._call("history"))

    async def messages(self) -> List[Record]:
        """Return the messages with their ids, roles and first words."""
        return wrap(await self._call("messages"))

    async def rewind(self, message_id: str) -> Record:
        """Hide a message of the user and everything after it."""
        return wrap(await self._call("rewind", messageId=message_id))

    async def unrewind(self) -> int:
        return await self._call("unrewind")

    async def changes(self, run_id: Optional[str] = None, diff: bool = False) -> List[Record]:
        """Return the file changes of tools in a run, or in the last run that changed files."""
        return wrap(await self._call("changes", runId=run_id, diff=diff))

    async def undo(self, run_id: Optional[str] = None) -> Record:
        """Restore files to their state before a run changed them."""
        return wrap(await self._call("undo", runId=run_id))

    async def todos(self) -> List[Record]:
        return wrap(await self._call("todos"))

    async def set_ad_hoc_files(self, paths: Sequence[Path]) -> None:
        """Set the files outside the workspace that the user has open."""
        await self._call("setAdHocFiles", paths=plain(paths))

    # Tools, rules and approvals

    async def tool(self, name: str, args: Optional[Mapping[str, Any]] = None) -> ToolResult:
        """Call a tool. Direct calls are privileged: rules and approvals do not apply to them, all other checks do."""
        return ToolResult(await self._call("tool", name=name, args=plain(dict(args or {}))))

    async def tool_names(self) -> List[str]:
        return await self._call("toolNames")

    async def tool_definitions(self) -> List[ToolInfo]:
        return records(ToolInfo, await self._call("toolDefinitions"))

    async def register_tool(self, tool: Union[Tool, Callable[..., Any]]) -> None:
        """Add a tool written in Python, or replace the one with its name."""
        made = as_tool(tool)
        before = self._tools.get(made.name)
        self._tools[made.name] = made
        try:
            await self._call("registerTool", tool=made.wire())
        except BaseException:
            if before is None:
                del self._tools[made.name]
            else:
                self._tools[made.name] = before
            raise

    async def unregister_tool(self, name: str) -> bool:
        removed = await self._call("unregisterTool", name=name)
        self._tools.pop(name, None)
        return removed

    async def set_mode(self, mode: Optional[str]) -> None:
        """Set the mode, a set of permissions. It applies from the next call."""
        await self._call("setMode", mode=mode)

    async def mode(self) -> Optional[str]:
        return await self._call("mode")

    async def model_name(self) -> str:
        return await self._call("modelName")

    async def set_model(self, name: str) -> None:
        await self._call("setModel", name=name)

    async def explain(self, name: str, args: Optional[Mapping[str, Any]] = None) -> Record:
        """Explain why a call of a model would be allowed, need an approval, or be denied. Nothing is run."""
        return wrap(await self._call("explain", name=name, args=plain(dict(args or {}))))

    async def pending_confirmations(self) -> List[Record]:
        """Return the calls that wait for an approval."""
        return wrap(await self._call("pendingConfirmations"))

    async def confirm_tool_use(
        self, tool_id: str, approved: bool, reason: Optional[str] = None, decision: Optional[str] = None
    ) -> bool:
        """Answer an approval. Returns False when no approval with this id waits."""
        return await self._call("confirmToolUse", toolId=tool_id, approved=approved, reason=reason, decision=decision)

    async def cancel_confirmations(self) -> int:
        return await self._call("cancelConfirmations")

    async def set_budget_guard(self, guard: Optional[Any]) -> None:
        """Replace the budget guard; None removes it."""
        before, self._guard = self._guard, guard
        try:
            wire = None if guard is None else guard_wire(guard)
            await self._link.request("session/setBudgetGuard", {"session": self._number, "guard": wire})
        except BaseException:
            self._guard = before
            raise

    # The most common direct calls

    async def read_file(self, path: Path, *, offset: Optional[int] = None, limit: Optional[int] = None) -> str:
        """Return the text of a file, or some of its lines."""
        return await self._call("readFile", path=os.fspath(path), offset=offset, limit=limit)

    async def write_file(self, path: Path, content: str) -> ToolResult:
        return ToolResult(await self._call("writeFile", path=os.fspath(path), content=content))

    async def edit_file(self, path: Path, old_string: str, new_string: str, replace_all: bool = False) -> ToolResult:
        return ToolResult(
            await self._call(
                "editFile",
                path=os.fspath(path),
                oldString=old_string,
                newString=new_string,
                replaceAll=replace_all,
            )
        )

    async def patch_file(self, path: Path, diff: str) -> ToolResult:
        return ToolResult(await self._call("patchFile", path=os.fspath(path), diff=diff))

    async def ls(self, path: Path = ".") -> ToolResult:
        return ToolResult(await self._call("ls", path=os.fspath(path)))

    async def glob(self, pattern: str, path: Optional[Path] = None) -> List[str]:
        return await self._call("glob", pattern=pattern, path=plain(path))

    async def grep(self, pattern: str, **options: Any) -> str:
        """Search files; the options are the arguments of the tool ``grep``."""
        return await self._call("grep", pattern=pattern, options=plain(options))

    async def bash(self, command: str, timeout: Optional[int] = None) -> str:
        """Run a command and return its output; ``tool("bash", …)`` also has the exit code. ``timeout`` is in ms."""
        return await self._call("bash", command=command, timeout=timeout)

    async def git(self, command: str, subcommand: Optional[str] = None, **options: Any) -> ToolResult:
        """Run one git command, such as ``git("log", max_count=5)``."""
        given = to_wire({"subcommand": subcommand, **options})
        return ToolResult(await self._call("git", command=command, options=given))

    async def web_search(self, query: str, limit: Optional[int] = None) -> ToolResult:
        return ToolResult(await self._call("webSearch", query=query, limit=limit))

    async def program(
        self,
        source: Union[str, Mapping[str, Any], None] = None,
        *,
        path: Optional[Path] = None,
        language: Optional[str] = None,
        inputs: Any = None,
        allowed_tools: Optional[Sequence[str]] = None,
        limits: Optional[Mapping[str, Any]] = None,
    ) -> ToolResult:
        """Run a JavaScript program that calls tools. All fields can also be passed as one dict."""
        given = {
            "source": source,
            "path": plain(path),
            "language": language,
            "inputs": inputs,
            "allowed_tools": allowed_tools,
            "limits": limits,
        }
        program = to_wire(dict(source) if isinstance(source, Mapping) else given)
        return ToolResult(await self._call("program", program=program))

    # Hooks and commands

    async def register_hook(
        self,
        id: str,
        event: str,
        handler: Callable[..., Any],
        *,
        matcher: Optional[Mapping[str, Any]] = None,
        config: Optional[Mapping[str, Any]] = None,
    ) -> None:
        """Call ``handler(event)`` at a point in the session's life. The event is a dict with ``payload``."""
        before = self._hooks.get(id)
        self._hooks[id] = handler
        try:
            await self._call(
                "registerHook",
                id=id,
                event=event,
                matcher=to_wire(dict(matcher or {})),
                config=to_wire(dict(config or {})),
            )
        except BaseException:
            if before is None:
                del self._hooks[id]
            else:
                self._hooks[id] = before
            raise

    async def unregister_hook(self, id: str) -> bool:
        removed = await self._call("unregisterHook", id=id)
        self._hooks.pop(id, None)
        return removed

    async def hook_count(self) -> int:
        return await self._call("hookCount")

    async def hook_status(self) -> List[Record]:
        return wrap(await self._call("hookStatus"))

    async def emit_cluster_event(self, event: Mapping[str, Any]) -> None:
        """Report a cluster event to the session's hooks and to the active run."""
        await self._call("emitClusterEvent", event=to_wire(dict(event)))

    async def register_command(
        self, name: str, description: str, handler: Callable[..., Any], timeout_ms: Optional[int] = None
    ) -> None:
        """Add the slash command ``/name``: ``handler(args, context)`` returns its text."""
        self._commands[name] = handler
        await self._call("registerCommand", name=name, description=description, timeoutMs=timeout_ms)

    async def list_commands(self) -> List[Record]:
        return wrap(await self._call("listCommands"))

    # Verification and objects

    async def verify_commands(self, subject: str, commands: Sequence[Mapping[str, Any]]) -> Record:
        """Run commands and save a report of their results. A failed command does not raise; the report contains it."""
        return wrap(await self._call("verifyCommands", subject=subject, commands=to_wire(list(commands))))

    async def verification_reports(self) -> List[Record]:
        return wrap(await self._call("verificationReports"))

    async def record_verification_reports(self, reports: Sequence[Mapping[str, Any]]) -> None:
        """Add reports of checks that ran elsewhere. The fields are those of ``verification_reports()``."""
        await self._call("recordVerificationReports", reports=plain(list(reports)))

    async def verification_summary(self) -> Record:
        return wrap(await self._call("verificationSummary"))

    async def verification_summary_text(self) -> str:
        return await self._call("verificationSummaryText")

    async def verification_presets(self) -> List[Record]:
        return wrap(await self._call("verificationPresets"))

    async def generate_object(self, schema: Mapping[str, Any], prompt: str, **options: Any) -> ObjectResult:
        """Ask the model for data that fits a JSON Schema. The conversation does not change."""
        given = {"schema": plain(dict(schema)), "prompt": prompt, "options": to_wire(options)}
        return ObjectResult(await self._call("generateObject", **given))

    # Subagents

    async def agents(self) -> List[Record]:
        return wrap(await self._call("agents"))

    async def agent_problems(self) -> List[str]:
        return await self._call("agentProblems")

    async def register_agent_dir(self, path: Path) -> int:
        """Read the agents of a directory. Returns the number of agents."""
        return await self._call("registerAgentDir", path=os.path.abspath(os.fspath(path)))

    async def register_worker_agent(self, spec: Mapping[str, Any]) -> Record:
        return wrap(await self._call("registerWorkerAgent", spec=to_wire(dict(spec))))

    async def task(
        self,
        task: Union[str, Mapping[str, Any], None] = None,
        *,
        prompt: Optional[str] = None,
        agent: Optional[str] = None,
        description: Optional[str] = None,
        background: Optional[bool] = None,
        max_steps: Optional[int] = None,
        output_schema: Optional[Mapping[str, Any]] = None,
    ) -> ToolResult:
        """Give a task to an agent, like the tool ``task``. ``task`` is a prompt, or a dict with these fields."""
        given = {
            "prompt": task if isinstance(task, str) else prompt,
            "agent": agent,
            "description": description,
            "background": background,
            "max_steps": max_steps,
            "output_schema": output_schema,
        }
        wire = to_wire(dict(task) if isinstance(task, Mapping) else given)
        return ToolResult(await self._call("task", task=wire))

    async def tasks(self, tasks: Sequence[Mapping[str, Any]]) -> ToolResult:
        """Run several tasks at the same time."""
        return ToolResult(await self._call("tasks", tasks=to_wire(list(tasks))))

    async def subagent_tasks(self) -> List[Record]:
        return wrap(await self._call("subagentTasks"))

    async def pending_subagent_tasks(self) -> List[Record]:
        return wrap(await self._call("pendingSubagentTasks"))

    async def subagent_task(self, task_id: str) -> Optional[Record]:
        return wrap(await self._call("subagentTask", taskId=task_id))

    async def cancel_subagent_task(self, task_id: str) -> bool:
        return await self._call("cancelSubagentTask", taskId=task_id)

    async def parallel(self, steps: Sequence[Mapping[str, Any]], budget_tokens: Optional[int] = None) -> Any:
        """Run steps at the same time. With a budget, the outcomes are in ``.outcomes``."""
        return wrap(await self._call("parallel", steps=to_wire(list(steps)), budgetTokens=budget_tokens))

    async def parallel_resumable(self, steps: Sequence[Mapping[str, Any]], workflow_id: str) -> List[Record]:
        """Run steps whose results are stored under an id: after a crash, only steps that did not succeed run again."""
        return wrap(await self._call("parallelResumable", steps=to_wire(list(steps)), workflowId=workflow_id))

    # Skills and memory

    async def skills(self) -> List[Record]:
        return wrap(await self._call("skills"))

    async def skill_problems(self) -> List[str]:
        return await self._call("skillProblems")

    async def remember_success(self, prompt: str, tools: Sequence[str], result: str) -> Record:
        """Save an approach that worked as a memory."""
        return wrap(await self._call("rememberSuccess", prompt=prompt, tools=list(tools), result=result))

    async def remember_failure(self, prompt: str, error: str, tools: Sequence[str]) -> Record:
        """Save an approach that failed as a memory, so that it can be avoided."""
        return wrap(await self._call("rememberFailure", prompt=prompt, error=error, tools=list(tools)))

    async def recall_similar(self, query: str, limit: int = 5) -> List[Record]:
        return wrap(await self._call("recallSimilar", query=query, limit=limit))

    async def recall_by_tags(self, tags: Sequence[str], limit: int = 10) -> List[Record]:
        return wrap(await self._call("recallByTags", tags=list(tags), limit=limit))

    async def memory_recent(self, limit: int = 10) -> List[Record]:
        return wrap(await self._call("memoryRecent", limit=limit))

    async def memory_stats(self) -> Record:
        return wrap(await self._call("memoryStats"))

    async def get_short_term(self) -> List[Record]:
        return wrap(await self._call("getShortTerm"))

    async def clear_short_term(self) -> int:
        return await self._call("clearShortTerm")

    async def get_working(self) -> List[Record]:
        return wrap(await self._call("getWorking"))

    async def clear_working(self) -> int:
        return await self._call("clearWorking")

    # MCP servers and the supervisor

    async def add_mcp_server(
        self,
        name: str,
        transport: str = "stdio",
        command: Optional[str] = None,
        args: Optional[Sequence[str]] = None,
        url: Optional[str] = None,
        headers: Optional[Mapping[str, str]] = None,
        env: Optional[Mapping[str, str]] = None,
        timeout_ms: Optional[int] = None,
    ) -> int:
        """Start or connect to an MCP server. Returns the number of its tools."""
        server = {
            "name": name,
            "transport": transport,
            "command": command,
            "args": None if args is None else list(args),
            "url": url,
            "headers": None if headers is None else dict(headers),
            "env": None if env is None else dict(env),
            "timeout_ms": timeout_ms,
        }
        return await self._call("addMcpServer", server=to_wire(server))

    async def remove_mcp_server(self, name: str) -> bool:
        return await self._call("removeMcpServer", name=name)

    async def mcp_status(self) -> List[Record]:
        return wrap(await self._call("mcpStatus"))

    async def refresh_mcp_tools(self, name: Optional[str] = None) -> None:
        await self._call("refreshMcpTools", name=name)

    async def disconnect_idle_mcp(self, threshold_ms: float) -> List[str]:
        return await self._call("disconnectIdleMcp", thresholdMs=threshold_ms)

    async def touch_mcp(self, name: str) -> None:
        await self._call("touchMcp", name=name)

    async def supervisor_status(self) -> Optional[Record]:
        return wrap(await self._call("supervisorStatus"))

    # The lanes that calls wait in

    async def has_queue(self) -> bool:
        return await self._call("hasQueue")

    async def set_lane_handler(self, lane: str, handler: Mapping[str, Any]) -> None:
        await self._call("setLaneHandler", lane=lane, handler=to_wire(dict(handler)))

    async def pending_external_tasks(self) -> List[Record]:
        return wrap(await self._call("pendingExternalTasks"))

    async def complete_external_task(self, task_id: str, completion: Mapping[str, Any]) -> bool:
        """Report the result of a task that a worker has claimed. Returns False when no such task waits for a result."""
        return await self._call("completeExternalTask", taskId=task_id, completion=plain(dict(completion)))

    async def queue_stats(self) -> Record:
        return wrap(await self._call("queueStats"))

    async def queue_metrics(self) -> Optional[Record]:
        return wrap(await self._call("queueMetrics"))

    async def dead_letters(self) -> List[Record]:
        return wrap(await self._call("deadLetters"))

    # The wire

    async def _call(self, method: str, **params: Any) -> Any:
        if self.is_closed:
            raise CapstanError(f"Session closed: '{self._description.get('sessionId')}'.", "session_closed")
        given = {name: value for name, value in params.items() if value is not None}
        return await self._link.request(f"session/{method}", {"session": self._number, **given})

    def _request(
        self,
        prompt: str,
        history: Optional[Sequence[Any]],
        attachments: Optional[Sequence[Mapping[str, Any]]],
        metadata: Optional[Mapping[str, Any]],
        run_id: Optional[str],
    ) -> Dict[str, Any]:
        if is_inside(self):
            raise CapstanError(
                "A run of this session waits for this callback, so another run cannot start. Use session.steer, "
                "session.btw or session.task, or another session.",
                "session_busy",
            )
        return {
            "prompt": prompt,
            "history": None if history is None else [plain(message) for message in history],
            "attachments": None if attachments is None else [_attachment(one) for one in attachments],
            "metadata": None if metadata is None else plain(dict(metadata)),
            "runId": run_id,
        }

    def _wire_options(self) -> Dict[str, Any]:
        options = self._options
        wire = data_options(options)
        if options.tools is not None:
            made = [as_tool(one) for one in options.tools]
            self._tools.update((one.name, one) for one in made)
            wire["tools"] = [one.wire() for one in made]
        if options.hooks is not None:
            self._hooks.update((hook["id"], hook["handler"]) for hook in options.hooks)
            wire["hooks"] = [_without_handler(hook) for hook in options.hooks]
        if options.commands is not None:
            self._commands.update((command["name"], command["handler"]) for command in options.commands)
            wire["commands"] = [_without_handler(command) for command in options.commands]
        if options.budget_guard is not None:
            wire["budgetGuard"] = guard_wire(options.budget_guard)
        if options.on_ask is not None:
            wire["onAsk"] = True
        if options.on_question is not None:
            wire["onQuestion"] = True
        return wire

    async def _called(self, method: str, params: Dict[str, Any]) -> Any:
        if method == "_capstan/tool/call":
            return await self._run_tool(params)
        if method == "_capstan/ask":
            return await self._ask(params["request"])
        if method == "_capstan/question":
            return await self._answer(params["questions"])
        if method == "_capstan/hook":
            return plain(await call_user(self, self._hooks[params["id"]], params["event"]))
        if method == "_capstan/command":
            handler = self._commands[params["name"]]
            return await call_user(self, handler, params["args"], wrap(params["context"]))
        if method.startswith("_capstan/budget/"):
            return await self._ask_guard(snake(method.rsplit("/", 1)[1]), params)
        raise CapstanError(f"There is no callback {method}.", "method_not_found")

    async def _run_tool(self, params: Dict[str, Any]) -> Any:
        tool = self._tools[params["name"]]
        call_id = params.get("callId")

        def progress(partial: Any) -> None:
            given = {"session": self._number, "callId": call_id, "partial": partial}
            self._link.notify("tool/progress", given)

        context = ToolContext(self._face(), call_id, params.get("sessionId"), progress)
        try:
            return result_data(await call_user(self, lambda: tool.function(**tool.arguments(params["args"], context))))
        except asyncio.CancelledError:
            context._cancelled.set()
            raise

    def _face(self) -> Any:
        """The session object that is passed to code of the user."""
        return getattr(self, "_shown", self)

    async def _ask(self, request: Dict[str, Any]) -> Any:
        handler = self._options.on_ask
        assert handler is not None
        return ask_answer(await call_user(self, handler, ApprovalRequest(request)))

    async def _answer(self, questions: List[Dict[str, Any]]) -> Any:
        handler = self._options.on_question
        assert handler is not None
        given = await call_user(self, handler, records(Question, questions))
        return question_answers(given, len(questions))

    async def _ask_guard(self, name: str, params: Dict[str, Any]) -> Any:
        method = getattr(self._guard, name, None)
        if method is None:
            return None
        last = params.get("estimatedTokens", params.get("usage", params.get("toolName")))
        return plain(await call_user(self, method, params["sessionId"], last))


class _Events:
    """Reads events in batches. The next batch is requested while the caller works on the current one."""

    def __init__(self, link: Link, number: int) -> None:
        self._link = link
        self._number = number
        self._batch: List[Any] = []
        self._at = 0
        self._asking: Optional["asyncio.Task[Any]"] = None
        self._done = False

    async def _take(self) -> Any:
        while self._at == len(self._batch):
            if self._done:
                raise StopAsyncIteration
            asking = self._asking or self._ask()
            self._asking = asking
            answer = await asyncio.shield(asking)
            self._asking = None
            self._batch, self._at, self._done = answer["events"], 0, answer["done"]
            if not self._done:
                self._asking = self._ask()
        self._at += 1
        return self._batch[self._at - 1]

    def _ask(self) -> "asyncio.Task[Any]":
        task = asyncio.ensure_future(self._link.request("stream/next", {"stream": self._number}))
        # A closed stream does not read the last answer.
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return task

    async def close(self) -> None:
        """Stop reading. A stream that owns its run cancels it."""
        if self._done:
            return
        self._done = True
        self._batch, self._at = [], 0
        await self._link.request("stream/close", {"stream": self._number})
        if self._asking is not None:
            self._asking.cancel()

    async def __aexit__(self, *_: Any) -> None:
        await self.close()


class EventStream(_Events):
    """The events of a run: ``async for event in stream``. Leaving ``async with stream`` early cancels the run."""

    async def __aenter__(self) -> "EventStream":
        return self

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        return Event(await self._take())


class RunEventStream(_Events):
    """The numbered events of a run that this stream does not own. Closing the stream does not affect the run."""

    async def __aenter__(self) -> "RunEventStream":
        return self

    def __aiter__(self) -> AsyncIterator[RunEvent]:
        return self

    async def __anext__(self) -> RunEvent:
        return RunEvent(await self._take())


def _optional(kind: Any, value: Any) -> Any:
    return None if value is None else kind(value)


def _attachment(given: Mapping[str, Any]) -> Dict[str, Any]:
    wire = to_wire({key: value for key, value in given.items() if key != "data"})
    data = given["data"]
    return {**wire, "data": base64.b64encode(data).decode() if isinstance(data, (bytes, bytearray)) else data}


def _without_handler(given: Mapping[str, Any]) -> Dict[str, Any]:
    return to_wire({key: value for key, value in given.items() if key != "handler"})
