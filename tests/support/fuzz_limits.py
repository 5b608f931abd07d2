"""Compile hostile bytes in this process, with limits on time and memory; judge what came back."""

from __future__ import annotations

import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from nczarr import registry
from nczarr.diagnostics.report import Diagnostic, Report, Source
from nczarr.options import Options
from nczarr.pipeline import phases
from nczarr.semantics.checked import Checked

SECONDS = 10
MEMORY = 1 << 30


class TooSlowError(AssertionError):
    """An input took more than ten seconds of work, or a minute of waiting."""


@contextmanager
def limits() -> Iterator[None]:
    """Ten seconds of work, a minute of waiting, and one more GiB of address space; over any, the test fails."""

    def late(number: int, frame: FrameType | None) -> None:
        raise TooSlowError(f"more than {SECONDS} s of work, or {6 * SECONDS} s in all")

    old = resource.getrlimit(resource.RLIMIT_AS)
    now = _address_space()
    resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY, old[1]))
    worked, waited = signal.signal(signal.SIGPROF, late), signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    signal.setitimer(signal.ITIMER_REAL, 6 * SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGPROF, worked)
        signal.signal(signal.SIGALRM, waited)
        resource.setrlimit(resource.RLIMIT_AS, old)


def _address_space() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def compiled(data: bytes, name: str = "fuzz.cdl") -> tuple[Checked | None, list[Diagnostic]]:
    """What the passes make of these bytes; any exception is a finding, whatever the bytes."""
    report = Report()
    form = registry.find_format("cdl")
    with limits():
        checked = phases.read(Source(name, data), report, Options(), form)
        found = report.list_sorted()
    return checked, found


def judge(data: bytes) -> bool:
    """Whether the bytes were accepted. Fails if the result and the diagnostics contradict each other."""
    from nczarr.diagnostics import render

    checked, found = compiled(data)
    errors = [each for each in found if each.severity == "error"]
    assert (checked is None) == bool(errors), "refused without a reason, or accepted in spite of one"
    text = "".join(render.human(found))
    assert all(character.isprintable() or character == "\n" for character in text if ord(character) < 0x300)
    for each in errors:
        assert each.primary.span.source is not None, f"{each.code} has no place"
        assert 0 <= each.primary.span.start <= len(data), each
    return checked is not None
