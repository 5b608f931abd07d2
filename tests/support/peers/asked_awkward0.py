"""The awkward0 library in an interpreter of its own."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from typing import Any

from tests.support.peers import SCRIPTS

READER = SCRIPTS / "read_awkward0.py"


def asked(interpreter: str, questions: Iterable[Any]) -> list[Any]:
    """The answers of one process."""
    lines = "".join(json.dumps(each) + "\n" for each in questions)
    ran = subprocess.run([interpreter, READER], input=lines, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in ran.stdout.splitlines()]
