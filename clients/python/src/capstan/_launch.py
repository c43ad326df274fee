"""Starts the Capstan process. Imports little: the process starts while the rest of the package loads."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from typing import List, Mapping, Optional, Sequence, Union

from ._errors import CapstanError

Command = Union[str, Sequence[str]]


def find_command(command: Optional[Command] = None) -> List[str]:
    """Return the program and arguments that start Capstan.

    The order: ``command``, the variable ``CAPSTAN_COMMAND``, ``capstan`` on the PATH, ``npx capstan``.
    """
    given = command if command is not None else os.environ.get("CAPSTAN_COMMAND")
    if given:
        return _words(given)
    for name, more in (("capstan", []), ("npx", ["capstan"])):
        found = shutil.which(name)
        if found is not None:
            return [found, *more]
    raise CapstanError(
        "The capstan command was not found. Install it with `npm install -g capstan`, "
        "or set CAPSTAN_COMMAND to the command that starts it.",
        "command_not_found",
    )


def _words(command: Command) -> List[str]:
    if not isinstance(command, str):
        return [os.fspath(word) for word in command]
    # A path can contain spaces; a command with arguments is split like in a shell.
    return [command] if os.path.exists(command) else shlex.split(command)


def launch(
    command: Optional[Command] = None, env: Optional[Mapping[str, str]] = None, cwd: Optional[str] = None
) -> "subprocess.Popen[bytes]":
    """Start the process with pipes for its standard streams."""
    words = [*find_command(command), "acp", "--host-methods"]
    try:
        return subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=None if env is None else {**os.environ, **env},
            cwd=cwd,
            # An interrupt of the terminal is for this program: it decides what to cancel.
            start_new_session=os.name == "posix",
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )
    except OSError as error:
        raise CapstanError(
            f"The command {shlex.join(words)} could not be started: {error.strerror or error}. "
            "Check CAPSTAN_COMMAND, or install Capstan with `npm install -g capstan`.",
            "command_not_started",
        ) from error
