"""The samples of docs/python.md and of the README, in one program each, as written."""

from __future__ import annotations

import contextlib
import io
import os
import re
import unittest
from pathlib import Path
from typing import Any, Dict, List, Tuple

from .support import CapstanTest

PACKAGE = Path(__file__).resolve().parent.parent
PAGE = PACKAGE.parent.parent / "docs" / "python.md"

ANSWERS: Dict[str, List[Any]] = {
    "How is the wind?": [{"tool": "read", "args": {"file_path": "log.txt"}}, "A fair wind."],
    "Set sail.": ["Aye, aye."],
    "What do you see?": ["Land in sight!"],
    "Hoist the sails.": [{"tool": "bash", "args": {"command": "touch sails"}}, "Hoisted."],
    "How is the wind in Cadiz?": [{"tool": "wind", "args": {"port": "Cadiz"}}, "Fair."],
}


def answer(request: Dict[str, Any]) -> Any:
    """The next answer to the last prompt: it depends on how many answers follow it."""
    messages = request["messages"]
    at = max(place for place, message in enumerate(messages) if message["role"] == "user")
    content = messages[at]["content"]
    prompt = content if isinstance(content, str) else content[0]["text"]
    rounds = sum(message["role"] == "assistant" for message in messages[at:])
    return next(steps for known, steps in ANSWERS.items() if known in prompt)[rounds]


class DocsTest(CapstanTest):
    def setUp(self) -> None:
        super().setUp()
        before = os.getcwd()
        os.chdir(self.base)
        self.addCleanup(os.chdir, before)
        os.mkdir("ship")
        Path("ship/log.txt").write_text("fair wind\n")
        Path("agent.acl").write_text(self.model(*[answer] * 100).acl)

    def run_samples(self, page: Path) -> int:
        names: Dict[str, Any] = {"__name__": "sample"}
        samples = blocks(page.read_text(encoding="utf-8"))
        try:
            for code, expected in samples:
                printed = io.StringIO()
                with contextlib.redirect_stdout(printed):
                    exec(compile(code, str(page), "exec"), names)
                if expected is not None:
                    self.assertEqual(printed.getvalue(), expected, code)
        finally:
            agent = names.get("agent")
            if agent is not None:
                agent.close()
        return len(samples)

    @unittest.skipUnless(PAGE.exists(), "the page is in the repository")
    def test_the_samples_of_the_page_run_and_print_what_it_says(self) -> None:
        self.assertEqual(self.run_samples(PAGE), 7)

    def test_the_sample_of_the_readme_runs(self) -> None:
        self.assertEqual(self.run_samples(PACKAGE / "README.md"), 1)


def blocks(page: str) -> List[Tuple[str, Any]]:
    """The Python blocks, each with the text block that follows it at once: what it prints."""
    found = re.findall(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", page, re.MULTILINE | re.DOTALL)
    return [(code, expected or None) for code, expected in found]
