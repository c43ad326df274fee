"""
Runs the named modules of tests in one process, with one Capstan process for all tests that can share it. Prints a line
of JSON for each module.
"""

from __future__ import annotations

import json
import sys
import unittest

from .support import CapstanTest, close_shared

CapstanTest.is_shared_by_classes = True
try:
    for name in sys.argv[1:]:
        tests = unittest.defaultTestLoader.loadTestsFromName(f"tests.{name}")
        result = unittest.TextTestRunner().run(tests)
        print(json.dumps({"module": name, "tests": result.testsRun, "ok": result.wasSuccessful()}), flush=True)
finally:
    close_shared()
