"""A server under load: 32 clients for a minute, slow clients beside them, and a kill in the middle of it."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from tests.conftest import ROOT
from tests.support.proof import PARTS
from tests.support.serving import serving

pytestmark = [pytest.mark.slow, pytest.mark.peer]
SCRIPT = ROOT / "benchmarks" / "serve_load.py"

ANSWERS, PATIENCE = 200, 60.0
"""Answers after which the server is killed, and the seconds that they may take."""


@pytest.fixture(scope="module")
def script(peer: Callable[[str], ModuleType]) -> ModuleType:
    """The script of the benchmark, which has the clients."""
    for name in ("uvicorn", "netCDF4", "h5py", "google.protobuf"):
        peer(name)
    spec = importlib.util.spec_from_file_location("serve_load", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_many_clients_for_a_minute(script: ModuleType) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    shorter = ["--quick"] if PARTS > 1 else []
    done = subprocess.run(
        [sys.executable, SCRIPT, *shorter], capture_output=True, text=True, env=environment, check=False, timeout=300
    )
    told = json.loads(done.stdout)
    assert told["errors"] == 0, (told, done.stderr)  # the status says whether the goals for times were met
    assert told["answers"] > 500
    assert told["peak_mb_beside_slow"] <= 400


def tree(root: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(root.rglob("*"))}


def test_a_kill_in_the_middle_loses_nothing(script: ModuleType, tmp_path: Path) -> None:
    script.make(tmp_path)
    before = tree(tmp_path)
    with serving(tmp_path) as served:
        answers = script.settled(served)
    for _ in range(3):
        seen: list[list[tuple[str, float, int, str]]] = [[] for _ in range(32)]
        with serving(tmp_path) as served:
            place, over = (served.host, served.port), threading.Event()
            threads = [threading.Thread(target=script.client, args=(place, n, over.is_set, seen[n])) for n in range(32)]
            for thread in threads:
                thread.start()
            deadline = time.monotonic() + PATIENCE
            while sum(map(len, seen)) < ANSWERS and time.monotonic() < deadline:
                time.sleep(0.01)
            served.process.kill()
            served.process.wait()
            while not any(wrong for some in seen for *_, wrong in some) and time.monotonic() < deadline:
                time.sleep(0.01)
            over.set()
            for thread in threads:
                thread.join()
        assert sum(not wrong for some in seen for *_, wrong in some) >= ANSWERS
        assert any(wrong for some in seen for *_, wrong in some)
        assert not [wrong for some in seen for *_, wrong in some if "status" in wrong or "before" in wrong]
        assert tree(tmp_path) == before
    with serving(tmp_path) as served:
        for url, again in script.settled(served).items():
            body = answers[url]
            assert again == body or b"127.0.0.1" in body, url
