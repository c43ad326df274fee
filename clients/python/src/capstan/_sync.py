# Written by scripts/write_sync.py from aio.py. Do not edit.
"""The classes of capstan.aio as blocking calls."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Union

from ._launch import Command, launch
from ._loop import run

if TYPE_CHECKING:
    from . import aio
    from ._options import SessionOptions
    from ._records import (
        AgentResult,
        Event,
        HistoryMessage,
        ObjectResult,
        Record,
        RunEvent,
        RunSnapshot,
        SideAnswer,
        ToolInfo,
        ToolResult,
    )
    from ._tools import Tool

Path = Union[str, "os.PathLike[str]"]
Options = Union["SessionOptions", Mapping[str, Any], None]


class Agent:
    """A configuration and its open sessions, in a separate Capstan process or on a server."""

    def __init__(self, inner: "aio.Agent") -> None:
        self._inner = inner

    @classmethod
    def create(
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
        # The process starts while the rest of the package is imported.
        process = launch(command, env)
        from . import aio

        return cls(run(aio.Agent._start(process, source, cwd, user_dir)))

    @classmethod
    def connect(cls, url: str, token: Optional[str] = None, *, timeout: float = 60.0) -> "Agent":
        """Connect to a Capstan server. Sessions and runs are on the server; ``timeout`` is in seconds per response."""
        from . import aio

        return cls(run(aio.Agent.connect(url, token, timeout=timeout)))

    @property
    def warnings(self) -> List[str]:
        """Warnings about the configuration."""
        return self._inner.warnings

    @property
    def is_closed(self) -> bool:
        return self._inner.is_closed

    def session(self, workspace: Path='.', options: Options=None, **fields: Any) -> 'Session':
        """Open a session on a directory. Options can also be passed as keyword arguments."""
        return Session(run(self._inner.session(workspace, options, **fields)))

    def session_for_agent(self, workspace: Path, name: str, agent_dirs: Sequence[Path]=(), options: Options=None, **fields: Any) -> 'Session':
        """Open a session with the prompt, tools, rules and limits of a named agent."""
        return Session(run(self._inner.session_for_agent(workspace, name, agent_dirs, options, **fields)))

    def session_for_worker(self, workspace: Path, spec: Mapping[str, Any], options: Options=None, **fields: Any) -> 'Session':
        """Open a session for a worker, which is an agent described by a short specification."""
        return Session(run(self._inner.session_for_worker(workspace, spec, options, **fields)))

    def resume_session(self, session_id: str, options: Options=None, *, workspace: Optional[Path]=None, **fields: Any) -> 'Session':
        """Resume a stored session with its history, todos, labels and settings. The given options take precedence."""
        return Session(run(self._inner.resume_session(session_id, options, workspace=workspace, **fields)))

    def fork_session(self, session: Union['Session', str], options: Options=None, *, from_message_id: Optional[str]=None, before_message_id: Optional[str]=None, workspace: Optional[Path]=None, **fields: Any) -> 'Session':
        """Copy a session, up to its end or to a message, into a new one."""
        return Session(run(self._inner.fork_session(_inner(session), options, from_message_id=from_message_id, before_message_id=before_message_id, workspace=workspace, **fields)))

    def list_sessions(self) -> List[str]:
        """Return the ids of the open sessions, sorted; on a server, those of the caller's stored sessions."""
        return run(self._inner.list_sessions())

    def close_session(self, session_id: str) -> bool:
        """Close a session. Returns False when it is not open."""
        return run(self._inner.close_session(session_id))

    def refresh_mcp_tools(self) -> None:
        """List the tools of the configured MCP servers again."""
        return run(self._inner.refresh_mcp_tools())

    def disconnect_idle_mcp(self, threshold_ms: float) -> List[str]:
        """Disconnect MCP servers that were not used for ``threshold_ms`` milliseconds. Returns their names."""
        return run(self._inner.disconnect_idle_mcp(threshold_ms))

    def describe(self) -> Dict[str, Any]:
        """Return the parsed configuration, with every secret hidden."""
        return run(self._inner.describe())

    def close(self) -> None:
        """Close every session and end the process. On a server, the sessions stay open."""
        return run(self._inner.close())

    def __enter__(self) -> 'Agent':
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

class Session:
    """A conversation on a workspace. ``agent.session(...)`` opens one."""

    def __init__(self, inner: "aio.Session") -> None:
        self._inner = inner
        # Tools get this object as ``context.session``.
        inner._shown = self  # type: ignore[attr-defined]

    @property
    def session_id(self) -> str:
        return self._inner.session_id

    @property
    def workspace(self) -> str:
        """The real path of the workspace."""
        return self._inner.workspace

    @property
    def init_warning(self) -> Optional[str]:
        """Warnings about the options, or None."""
        return self._inner.init_warning

    @property
    def has_memory(self) -> bool:
        return self._inner.has_memory

    @property
    def tenant_id(self) -> Optional[str]:
        return self._inner.tenant_id

    @property
    def principal(self) -> Optional[str]:
        return self._inner.principal

    @property
    def agent_template_id(self) -> Optional[str]:
        return self._inner.agent_template_id

    @property
    def correlation_id(self) -> Optional[str]:
        return self._inner.correlation_id

    @property
    def is_closed(self) -> bool:
        return self._inner.is_closed

    def title(self) -> Optional[str]:
        return run(self._inner.title())

    def set_title(self, title: str) -> None:
        return run(self._inner.set_title(title))

    def save(self) -> None:
        """Wait until all records so far are on disk."""
        return run(self._inner.save())

    def close(self) -> None:
        """End the active run and close everything that belongs to the session."""
        return run(self._inner.close())

    def suspend(self) -> None:
        """Close the session without ending its run, so that another process can resume it."""
        return run(self._inner.suspend())

    def __enter__(self) -> 'Session':
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def send(self, prompt: str, *, history: Optional[Sequence[Union[HistoryMessage, Mapping[str, Any]]]]=None, attachments: Optional[Sequence[Mapping[str, Any]]]=None, metadata: Optional[Mapping[str, Any]]=None, run_id: Optional[str]=None) -> AgentResult:
        """Send a prompt and wait for the answer. An interrupt cancels the run.

        With ``history``, the prompt is answered on top of that history, and the one of the session stays as it is.
        """
        return run(self._inner.send(prompt, history=history, attachments=attachments, metadata=metadata, run_id=run_id))

    def stream(self, prompt: str, *, history: Optional[Sequence[Union[HistoryMessage, Mapping[str, Any]]]]=None, attachments: Optional[Sequence[Mapping[str, Any]]]=None, metadata: Optional[Mapping[str, Any]]=None, run_id: Optional[str]=None) -> 'EventStream':
        """Send a prompt and return the events of the run. Closing the stream early cancels the run."""
        return EventStream(run(self._inner.stream(prompt, history=history, attachments=attachments, metadata=metadata, run_id=run_id)))

    def watch(self, run_id: str, from_sequence: int=0) -> 'RunEventStream':
        """Follow a run from a sequence number without owning it: closing the stream does not cancel the run."""
        return RunEventStream(run(self._inner.watch(run_id, from_sequence)))

    def steer(self, text: str) -> bool:
        """Add a message to the active run. Returns False when no run is active."""
        return run(self._inner.steer(text))

    def btw(self, question: str) -> SideAnswer:
        """Ask a side question. It is answered from the conversation without tools, and not added to the history."""
        return run(self._inner.btw(question))

    def cancel(self) -> bool:
        """Cancel the active run. Returns False when no run was active."""
        return run(self._inner.cancel())

    def cancel_run(self, run_id: str) -> bool:
        return run(self._inner.cancel_run(run_id))

    def resume_run(self, run_id: str) -> AgentResult:
        """Continue a run whose process ended, from its last finished round, as a new run."""
        return run(self._inner.resume_run(run_id))

    def runs(self) -> List[RunSnapshot]:
        return run(self._inner.runs())

    def run_snapshot(self, run_id: str) -> Optional[RunSnapshot]:
        return run(self._inner.run_snapshot(run_id))

    def run_events(self, run_id: str) -> List[RunEvent]:
        return run(self._inner.run_events(run_id))

    def current_run(self) -> Optional[RunSnapshot]:
        return run(self._inner.current_run())

    def trace_events(self) -> List[Record]:
        """Return how every tool call was decided and how it ended."""
        return run(self._inner.trace_events())

    def spending(self) -> Record:
        """Return the tokens and the cost of all model requests of this session."""
        return run(self._inner.spending())

    def history(self) -> List[HistoryMessage]:
        return run(self._inner.history())

    def messages(self) -> List[Record]:
        """Return the messages with their ids, roles and first words."""
        return run(self._inner.messages())

    def rewind(self, message_id: str) -> Record:
        """Hide a message of the user and everything after it."""
        return run(self._inner.rewind(message_id))

    def unrewind(self) -> int:
        return run(self._inner.unrewind())

    def changes(self, run_id: Optional[str]=None, diff: bool=False) -> List[Record]:
        """Return the file changes of tools in a run, or in the last run that changed files."""
        return run(self._inner.changes(run_id, diff))

    def undo(self, run_id: Optional[str]=None) -> Record:
        """Restore files to their state before a run changed them."""
        return run(self._inner.undo(run_id))

    def todos(self) -> List[Record]:
        return run(self._inner.todos())

    def set_ad_hoc_files(self, paths: Sequence[Path]) -> None:
        """Set the files outside the workspace that the user has open."""
        return run(self._inner.set_ad_hoc_files(paths))

    def tool(self, name: str, args: Optional[Mapping[str, Any]]=None) -> ToolResult:
        """Call a tool. Direct calls are privileged: rules and approvals do not apply to them, all other checks do."""
        return run(self._inner.tool(name, args))

    def tool_names(self) -> List[str]:
        return run(self._inner.tool_names())

    def tool_definitions(self) -> List[ToolInfo]:
        return run(self._inner.tool_definitions())

    def register_tool(self, tool: Union[Tool, Callable[..., Any]]) -> None:
        """Add a tool written in Python, or replace the one with its name."""
        return run(self._inner.register_tool(tool))

    def unregister_tool(self, name: str) -> bool:
        return run(self._inner.unregister_tool(name))

    def set_mode(self, mode: Optional[str]) -> None:
        """Set the mode, a set of permissions. It applies from the next call."""
        return run(self._inner.set_mode(mode))

    def mode(self) -> Optional[str]:
        return run(self._inner.mode())

    def model_name(self) -> str:
        return run(self._inner.model_name())

    def set_model(self, name: str) -> None:
        return run(self._inner.set_model(name))

    def explain(self, name: str, args: Optional[Mapping[str, Any]]=None) -> Record:
        """Explain why a call of a model would be allowed, need an approval, or be denied. Nothing is run."""
        return run(self._inner.explain(name, args))

    def pending_confirmations(self) -> List[Record]:
        """Return the calls that wait for an approval."""
        return run(self._inner.pending_confirmations())

    def confirm_tool_use(self, tool_id: str, approved: bool, reason: Optional[str]=None, decision: Optional[str]=None) -> bool:
        """Answer an approval. Returns False when no approval with this id waits."""
        return run(self._inner.confirm_tool_use(tool_id, approved, reason, decision))

    def cancel_confirmations(self) -> int:
        return run(self._inner.cancel_confirmations())

    def set_budget_guard(self, guard: Optional[Any]) -> None:
        """Replace the budget guard; None removes it."""
        return run(self._inner.set_budget_guard(guard))

    def read_file(self, path: Path, *, offset: Optional[int]=None, limit: Optional[int]=None) -> str:
        """Return the text of a file, or some of its lines."""
        return run(self._inner.read_file(path, offset=offset, limit=limit))

    def write_file(self, path: Path, content: str) -> ToolResult:
        return run(self._inner.write_file(path, content))

    def edit_file(self, path: Path, old_string: str, new_string: str, replace_all: bool=False) -> ToolResult:
        return run(self._inner.edit_file(path, old_string, new_string, replace_all))

    def patch_file(self, path: Path, diff: str) -> ToolResult:
        return run(self._inner.patch_file(path, diff))

    def ls(self, path: Path='.') -> ToolResult:
        return run(self._inner.ls(path))

    def glob(self, pattern: str, path: Optional[Path]=None) -> List[str]:
        return run(self._inner.glob(pattern, path))

    def grep(self, pattern: str, **options: Any) -> str:
        """Search files; the options are the arguments of the tool ``grep``."""
        return run(self._inner.grep(pattern, **options))

    def bash(self, command: str, timeout: Optional[int]=None) -> str:
        """Run a command and return its output; ``tool("bash", …)`` also has the exit code. ``timeout`` is in ms."""
        return run(self._inner.bash(command, timeout))

    def git(self, command: str, subcommand: Optional[str]=None, **options: Any) -> ToolResult:
        """Run one git command, such as ``git("log", max_count=5)``."""
        return run(self._inner.git(command, subcommand, **options))

    def web_search(self, query: str, limit: Optional[int]=None) -> ToolResult:
        return run(self._inner.web_search(query, limit))

    def program(self, source: Union[str, Mapping[str, Any], None]=None, *, path: Optional[Path]=None, language: Optional[str]=None, inputs: Any=None, allowed_tools: Optional[Sequence[str]]=None, limits: Optional[Mapping[str, Any]]=None) -> ToolResult:
        """Run a JavaScript program that calls tools. All fields can also be passed as one dict."""
        return run(self._inner.program(source, path=path, language=language, inputs=inputs, allowed_tools=allowed_tools, limits=limits))

    def register_hook(self, id: str, event: str, handler: Callable[..., Any], *, matcher: Optional[Mapping[str, Any]]=None, config: Optional[Mapping[str, Any]]=None) -> None:
        """Call ``handler(event)`` at a point in the session's life. The event is a dict with ``payload``."""
        return run(self._inner.register_hook(id, event, handler, matcher=matcher, config=config))

    def unregister_hook(self, id: str) -> bool:
        return run(self._inner.unregister_hook(id))

    def hook_count(self) -> int:
        return run(self._inner.hook_count())

    def hook_status(self) -> List[Record]:
        return run(self._inner.hook_status())

    def emit_cluster_event(self, event: Mapping[str, Any]) -> None:
        """Report a cluster event to the session's hooks and to the active run."""
        return run(self._inner.emit_cluster_event(event))

    def register_command(self, name: str, description: str, handler: Callable[..., Any], timeout_ms: Optional[int]=None) -> None:
        """Add the slash command ``/name``: ``handler(args, context)`` returns its text."""
        return run(self._inner.register_command(name, description, handler, timeout_ms))

    def list_commands(self) -> List[Record]:
        return run(self._inner.list_commands())

    def verify_commands(self, subject: str, commands: Sequence[Mapping[str, Any]]) -> Record:
        """Run commands and save a report of their results. A failed command does not raise; the report contains it."""
        return run(self._inner.verify_commands(subject, commands))

    def verification_reports(self) -> List[Record]:
        return run(self._inner.verification_reports())

    def record_verification_reports(self, reports: Sequence[Mapping[str, Any]]) -> None:
        """Add reports of checks that ran elsewhere. The fields are those of ``verification_reports()``."""
        return run(self._inner.record_verification_reports(reports))

    def verification_summary(self) -> Record:
        return run(self._inner.verification_summary())

    def verification_summary_text(self) -> str:
        return run(self._inner.verification_summary_text())

    def verification_presets(self) -> List[Record]:
        return run(self._inner.verification_presets())

    def generate_object(self, schema: Mapping[str, Any], prompt: str, **options: Any) -> ObjectResult:
        """Ask the model for data that fits a JSON Schema. The conversation does not change."""
        return run(self._inner.generate_object(schema, prompt, **options))

    def agents(self) -> List[Record]:
        return run(self._inner.agents())

    def agent_problems(self) -> List[str]:
        return run(self._inner.agent_problems())

    def register_agent_dir(self, path: Path) -> int:
        """Read the agents of a directory. Returns the number of agents."""
        return run(self._inner.register_agent_dir(path))

    def register_worker_agent(self, spec: Mapping[str, Any]) -> Record:
        return run(self._inner.register_worker_agent(spec))

    def task(self, task: Union[str, Mapping[str, Any], None]=None, *, prompt: Optional[str]=None, agent: Optional[str]=None, description: Optional[str]=None, background: Optional[bool]=None, max_steps: Optional[int]=None, output_schema: Optional[Mapping[str, Any]]=None) -> ToolResult:
        """Give a task to an agent, like the tool ``task``. ``task`` is a prompt, or a dict with these fields."""
        return run(self._inner.task(task, prompt=prompt, agent=agent, description=description, background=background, max_steps=max_steps, output_schema=output_schema))

    def tasks(self, tasks: Sequence[Mapping[str, Any]]) -> ToolResult:
        """Run several tasks at the same time."""
        return run(self._inner.tasks(tasks))

    def subagent_tasks(self) -> List[Record]:
        return run(self._inner.subagent_tasks())

    def pending_subagent_tasks(self) -> List[Record]:
        return run(self._inner.pending_subagent_tasks())

    def subagent_task(self, task_id: str) -> Optional[Record]:
        return run(self._inner.subagent_task(task_id))

    def cancel_subagent_task(self, task_id: str) -> bool:
        return run(self._inner.cancel_subagent_task(task_id))

    def parallel(self, steps: Sequence[Mapping[str, Any]], budget_tokens: Optional[int]=None) -> Any:
        """Run steps at the same time. With a budget, the outcomes are in ``.outcomes``."""
        return run(self._inner.parallel(steps, budget_tokens))

    def parallel_resumable(self, steps: Sequence[Mapping[str, Any]], workflow_id: str) -> List[Record]:
        """Run steps whose results are stored under an id: after a crash, only steps that did not succeed run again."""
        return run(self._inner.parallel_resumable(steps, workflow_id))

    def skills(self) -> List[Record]:
        return run(self._inner.skills())

    def skill_problems(self) -> List[str]:
        return run(self._inner.skill_problems())

    def remember_success(self, prompt: str, tools: Sequence[str], result: str) -> Record:
        """Save an approach that worked as a memory."""
        return run(self._inner.remember_success(prompt, tools, result))

    def remember_failure(self, prompt: str, error: str, tools: Sequence[str]) -> Record:
        """Save an approach that failed as a memory, so that it can be avoided."""
        return run(self._inner.remember_failure(prompt, error, tools))

    def recall_similar(self, query: str, limit: int=5) -> List[Record]:
        return run(self._inner.recall_similar(query, limit))

    def recall_by_tags(self, tags: Sequence[str], limit: int=10) -> List[Record]:
        return run(self._inner.recall_by_tags(tags, limit))

    def memory_recent(self, limit: int=10) -> List[Record]:
        return run(self._inner.memory_recent(limit))

    def memory_stats(self) -> Record:
        return run(self._inner.memory_stats())

    def get_short_term(self) -> List[Record]:
        return run(self._inner.get_short_term())

    def clear_short_term(self) -> int:
        return run(self._inner.clear_short_term())

    def get_working(self) -> List[Record]:
        return run(self._inner.get_working())

    def clear_working(self) -> int:
        return run(self._inner.clear_working())

    def add_mcp_server(self, name: str, transport: str='stdio', command: Optional[str]=None, args: Optional[Sequence[str]]=None, url: Optional[str]=None, headers: Optional[Mapping[str, str]]=None, env: Optional[Mapping[str, str]]=None, timeout_ms: Optional[int]=None) -> int:
        """Start or connect to an MCP server. Returns the number of its tools."""
        return run(self._inner.add_mcp_server(name, transport, command, args, url, headers, env, timeout_ms))

    def remove_mcp_server(self, name: str) -> bool:
        return run(self._inner.remove_mcp_server(name))

    def mcp_status(self) -> List[Record]:
        return run(self._inner.mcp_status())

    def refresh_mcp_tools(self, name: Optional[str]=None) -> None:
        return run(self._inner.refresh_mcp_tools(name))

    def disconnect_idle_mcp(self, threshold_ms: float) -> List[str]:
        return run(self._inner.disconnect_idle_mcp(threshold_ms))

    def touch_mcp(self, name: str) -> None:
        return run(self._inner.touch_mcp(name))

    def supervisor_status(self) -> Optional[Record]:
        return run(self._inner.supervisor_status())

    def has_queue(self) -> bool:
        return run(self._inner.has_queue())

    def set_lane_handler(self, lane: str, handler: Mapping[str, Any]) -> None:
        return run(self._inner.set_lane_handler(lane, handler))

    def pending_external_tasks(self) -> List[Record]:
        return run(self._inner.pending_external_tasks())

    def complete_external_task(self, task_id: str, completion: Mapping[str, Any]) -> bool:
        """Report the result of a task that a worker has claimed. Returns False when no such task waits for a result."""
        return run(self._inner.complete_external_task(task_id, completion))

    def queue_stats(self) -> Record:
        return run(self._inner.queue_stats())

    def queue_metrics(self) -> Optional[Record]:
        return run(self._inner.queue_metrics())

    def dead_letters(self) -> List[Record]:
        return run(self._inner.dead_letters())

class EventStream:
    """The events of a run: ``for event in stream``. Leaving ``with stream`` early cancels the run."""

    def __init__(self, inner: "aio.EventStream") -> None:
        self._inner = inner

    def __iter__(self) -> Iterator["Event"]:
        return self

    def __next__(self) -> "Event":
        event = run(_next(self._inner))
        if event is None:
            raise StopIteration
        return event

    def __enter__(self) -> 'EventStream':
        return self

    def close(self) -> None:
        """Stop reading. A stream that owns its run cancels it."""
        return run(self._inner.close())

    def __exit__(self, *_: Any) -> None:
        self.close()

class RunEventStream:
    """The numbered events of a run that this stream does not own. Closing the stream does not affect the run."""

    def __init__(self, inner: "aio.RunEventStream") -> None:
        self._inner = inner

    def __iter__(self) -> Iterator["RunEvent"]:
        return self

    def __next__(self) -> "RunEvent":
        event = run(_next(self._inner))
        if event is None:
            raise StopIteration
        return event

    def __enter__(self) -> 'RunEventStream':
        return self

    def close(self) -> None:
        """Stop reading. A stream that owns its run cancels it."""
        return run(self._inner.close())

    def __exit__(self, *_: Any) -> None:
        self.close()


async def _next(stream: Any) -> Any:
    try:
        return await stream.__anext__()
    except StopAsyncIteration:
        return None


def _inner(value: Any) -> Any:
    return getattr(value, "_inner", value)
