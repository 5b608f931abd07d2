"""Fixtures that every test may use: the shared data beside the clone, peers, and running a command line."""

from __future__ import annotations

import gc
import importlib
import io
import os
import pkgutil
import re
import shutil
import subprocess
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import nullcontext, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import settings

from tests.support.plugins import ABSENT, asked, find_imported, note_asked, skip_without
from tests.support.proof import PART, PARTS

settings.register_profile("steady", derandomize=True, deadline=None, max_examples=40)
settings.register_profile("random", deadline=None)
settings.load_profile("random" if os.environ.get("NCZARR_RANDOM") == "1" else "steady")  # `make proof` draws new ones

ROOT = Path(__file__).resolve().parent.parent

pytest_plugins = ("tests.support.s3",)

gc.disable()  # until all tests are collected: they are a million objects, of which none is garbage


def shared_folder() -> Path | None:
    """The folder of shared data: NCZARR_SHARED, or `shared` beside the clone."""
    named = os.environ.get("NCZARR_SHARED")
    for folder in [Path(named)] if named else [ROOT.parent / "shared"]:
        if (folder / "data").is_dir():
            return folder
    return None


@pytest.fixture(scope="session")
def shared() -> Path:
    """The shared data; without them a visible skip."""
    folder = shared_folder()
    if folder is None:
        pytest.skip("shared data are not beside the clone (NCZARR_SHARED names another place)")
    return folder


def missing_peer(name: str) -> None:
    """Skip visibly because a peer is missing; fail where peers are required."""
    if os.environ.get("NCZARR_REQUIRE_PEERS") == "1":
        pytest.fail(f"peer {name} is missing, and NCZARR_REQUIRE_PEERS=1 requires it")
    pytest.skip(f"peer {name} is not installed")


@pytest.fixture(scope="session")
def peer() -> Callable[[str], ModuleType]:
    """Import a peer library, or skip visibly: `peer("netCDF4")`."""

    def load(name: str) -> ModuleType:
        try:
            return importlib.import_module(name)
        except ImportError:
            missing_peer(name)
            raise AssertionError from None

    return load


@pytest.fixture(scope="session")
def tool() -> Callable[[str], str]:
    """The path of a peer's command, or a visible skip: `tool("ncgen")`."""

    def find(name: str) -> str:
        path = shutil.which(name)
        if path is None:
            missing_peer(name)
            raise AssertionError
        return path

    return find


@pytest.fixture(scope="session")
def awkward0() -> str:
    """The interpreter that NCZARR_AWKWARD0 names; awkward0 needs a Python that most machines do not have any more.

    Under NCZARR_REQUIRE_PEERS=1 it may be missing only where no python3.8 runs.
    """
    named = os.environ.get("NCZARR_AWKWARD0")
    if named:
        return named
    old = shutil.which("python3.8")
    runs = old is not None and subprocess.run([old, "-c", ""], capture_output=True, check=False).returncode == 0
    if runs and os.environ.get("NCZARR_REQUIRE_PEERS") == "1":
        pytest.fail("peer awkward0 is missing, and NCZARR_REQUIRE_PEERS=1 requires it where python3.8 runs")
    pytest.skip("peer awkward0 is not installed (NCZARR_AWKWARD0 names an interpreter that has it)")


@dataclass(frozen=True)
class Ran:
    """What a command line did."""

    status: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return self.out.decode("utf-8")


class _Stream(io.TextIOWrapper):
    """A text stream in memory with a `buffer`, as the real ones have."""

    def __init__(self, data: bytes = b"") -> None:
        super().__init__(io.BytesIO(data), encoding="utf-8", errors="surrogateescape", newline="")

    def taken(self) -> bytes:
        self.flush()
        return self.buffer.getvalue()  # type: ignore[attr-defined,no-any-return]


def run_command(*arguments: str, stdin: bytes = b"") -> Ran:
    """One command line in this process, with its own standard streams."""
    from nczarr.__main__ import main

    out, err, old = _Stream(), _Stream(), sys.stdin
    sys.stdin = _Stream(stdin)
    try:
        with redirect_stdout(out), redirect_stderr(err):
            status = main(list(arguments))
    finally:
        sys.stdin = old
    text = err.taken().decode("utf-8", "surrogateescape")
    note_asked(text)
    return Ran(status, out.taken(), text)


@pytest.fixture(scope="session", autouse=True)
def _second_reader() -> Iterator[None]:
    """Let all verifications of a session use one process of the second reader: each would import a library."""
    if "second_reader" in ABSENT:
        yield
        return
    from nczarr.plugins.second_reader import verification

    with verification.share_process(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(verification, "share_process", nullcontext)  # commands share that of the session
        yield


@pytest.fixture
def nczarr_command() -> Callable[..., Ran]:
    """Run `nczarr …` in this process: `nczarr_command("check", "-", stdin=b"…")`."""
    return run_command


def pytest_collection_finish(session: pytest.Session) -> None:
    """Import the whole of nczarr before tests with generated examples: Hypothesis draws from the constants of modules
    that are loaded, so that the examples would hang on which tests the process ran before.
    """
    gc.freeze()  # tests and modules stay to the end: no collection need look at them
    gc.enable()
    if session.config.option.collectonly:
        return
    if any(getattr(getattr(item, "obj", None), "is_hypothesis_test", False) for item in session.items):
        import nczarr

        for module in pkgutil.walk_packages(nczarr.__path__, "nczarr."):
            importlib.import_module(module.name)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--accept GLOB`: rewrite the wanted output of matching cases, which still fail."""
    parser.addoption("--accept", metavar="GLOB", default=None, help="rewrite wanted outputs of matching cases")


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[None]:
    """Skip a module of tests that imports a plugin that was removed."""
    report: Any = yield
    excinfo = report.call.excinfo
    name = find_imported(excinfo.value.__cause__) if excinfo is not None else ""
    if name:
        report.outcome, report.longrepr = "skipped", (str(collector.path), 0, f"Skipped: plugin {name} was removed")
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test that is marked as one of a plugin that was removed."""
    asked.clear()
    for mark in item.iter_markers("plugin"):
        skip_without(*mark.args)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Skip a test that fails because it asks for what only a plugin offers that was removed."""
    report: Any = yield
    if ABSENT and report.failed:
        note_asked("\n".join((report.longreprtext, report.capstdout, report.capstderr)))
        names = sorted({find_imported(call.excinfo and call.excinfo.value), *asked} - {""})
        if names:
            reason = f"Skipped: plugin {names[0]} was removed"
            report.outcome, report.longrepr = "skipped", (str(item.path), item.location[1], reason)
    return report


SLOW_ALONE = re.compile(r"^pytestmark = .*\bpytest\.mark\.slow\b", re.MULTILINE)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out modules of slow tests alone where `-m` wants no slow ones: some import much."""
    is_module = collection_path.suffix == ".py" and "not slow" in config.option.markexpr
    return (is_module and SLOW_ALONE.search(collection_path.read_text(encoding="utf-8")) is not None) or None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark giant cases and cases of sampled tests slow, and leave out slow cases of other parts of the proof."""
    for item in items:
        if item.get_closest_marker("giant") is not None:
            item.add_marker(pytest.mark.slow)
    _sample(items)
    _keep_part(config, items)


def _sample(items: list[pytest.Item]) -> None:
    """Keep every nth case of a test with the mark `sampled(n)` quick, and mark the others slow."""
    counts: dict[str, int] = {}
    for item in items:
        sampled = item.get_closest_marker("sampled")
        if sampled is not None:
            name = item.nodeid.partition("[")[0]
            place = counts[name] = counts.get(name, -1) + 1
            if place % sampled.args[0]:
                item.add_marker(pytest.mark.slow)


def _keep_part(config: pytest.Config, items: list[pytest.Item]) -> None:
    """`NCZARR_PROOF_PART=1/10`: a tenth of the cases of each slow test, and of all long cases.

    Tests with few cases are dealt out by their names; those that make their own cases take their share themselves.
    Giant cases belong to the last part.
    """
    if PARTS == 1:
        return
    giant = {id(item) for item in items if item.get_closest_marker("giant") is not None}
    slow = [item for item in items if item.get_closest_marker("slow") is not None and id(item) not in giant]
    total = Counter(item.nodeid.partition("[")[0] for item in slow)
    counts: dict[str, int] = {}
    left = [item for item in items if id(item) in giant and PART != PARTS]
    for item in slow:
        name = item.nodeid.partition("[")[0]
        place = counts[name] = counts.get(name, -1) + 1
        own = total[name] == 1 and hasattr(getattr(item, "module", None), "share")
        start = zlib.crc32(name.encode()) if total[name] < PARTS else 0
        if not own and (place + start) % PARTS != PART - 1:
            left.append(item)
    for item in items:
        is_long = item.get_closest_marker("long") is not None and item.get_closest_marker("slow") is None
        if is_long and zlib.crc32(item.nodeid.encode()) % PARTS != PART - 1:
            left.append(item)
    config.hook.pytest_deselected(items=left)
    gone = set(map(id, left))
    items[:] = [item for item in items if id(item) not in gone]
