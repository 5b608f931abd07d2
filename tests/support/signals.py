"""Signals of processes that tests start."""

from __future__ import annotations

import signal


def hear_interrupts() -> None:
    """Let a process be interrupted: one that is started in the background of a shell ignores interrupts."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
