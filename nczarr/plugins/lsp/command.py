"""`nczarr lsp`: language server for editors, over standard streams."""

from __future__ import annotations

import argparse
import gc
import os
import signal
import sys

from nczarr.cli import DONE, FAULTY
from nczarr.cli.parser import Command
from nczarr.cli.shared import Messages
from nczarr.options import OUTPUT, REPORTING

EXAMPLES = (("start the server, as an editor does", "lsp"), ("report warnings as errors in the editor", "lsp --strict"))

SWEEPING = (2000, 10, 10)
"""Thresholds of the garbage collector: commands disable it, but a server would accumulate reference cycles."""


def parser() -> Command:
    """Return the parser of `lsp`."""
    subparser = Command(
        "lsp",
        "[OPTION]…",
        "Answer an editor by the Language Server Protocol on standard input and output: diagnostics, completion, "
        "explanations, renaming and more for CDL (.cdl) and the NCZarr notation (.ncz). Editors start the command "
        "themselves.",
        EXAMPLES,
    )
    subparser.option(OUTPUT, "--stdio", action="store_true", help="use standard streams, which is the only way")
    return subparser.complete(REPORTING)


def run(arguments: argparse.Namespace) -> int:
    """Serve one client; the status is 1 if it left without a farewell."""
    ends: list[bool] = []
    status = Messages(arguments).guard(lambda: ends.append(_serve(strict=arguments.strict)))
    return status or (DONE if ends == [True] else FAULTY)


def _serve(*, strict: bool) -> bool:
    """Serve on the standard streams; return whether the session ended in order. Raises ImportError.

    What libraries print goes to standard error meanwhile.
    """
    import logging

    from nczarr.plugins.lsp.server import is_fault, serve

    if sys.stdin.isatty():
        sys.stderr.write("nczarr lsp: waiting for messages of an editor; Ctrl-C ends\n")
    log = logging.StreamHandler(sys.stderr)
    log.addFilter(is_fault)
    logging.basicConfig(handlers=[log], format="nczarr lsp: %(message)s")
    gc.set_threshold(*SWEEPING)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)  # the system ends it at once; a thread waits for standard input
    sys.stdout.flush()
    saved = os.dup(1)
    stdout = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        return serve(sys.stdin.buffer, stdout, strict=strict)
    finally:
        os.dup2(saved, 1)
        os.close(saved)
