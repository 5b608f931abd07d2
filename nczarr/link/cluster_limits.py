"""Checks that a cluster can do a run, made before any data are read."""

from __future__ import annotations

import re
from importlib.util import find_spec

from nczarr.diagnostics.report import Report
from nczarr.diagnostics.secrets import shown
from nczarr.registry import Format

_ADDRESS = re.compile(r"(?:[a-z]+://)?[^\s/@?#]+:[0-9]+/?|inproc://[^\s@?#]+", re.ASCII)
"""Address of a scheduler: `tcp://host:port`, `tls://host:port`, `host:port`, or dask's name of one in this process."""


def is_divisible(path: str, form: Format, address: str, report: Report) -> bool:
    """Return whether a cluster can make the target. Reports indivisible-run, bad-url, missing-library."""
    if form.commits:
        indivisible(f"`{shown(path)}`: a commit is made by one process", report)
        return False
    if not form.emit:
        indivisible(f"`{shown(path)}`: format `{form.name}` is one file, which only one process can write", report)
        return False
    if path.lower().endswith(".zip"):
        indivisible(f"`{shown(path)}` is an archive, which only one process can write", report)
        return False
    return is_scheduler(address, report)


def is_scheduler(address: str, report: Report) -> bool:
    """Return whether a scheduler may be at this address. Reports bad-url, missing-library."""
    if _ADDRESS.fullmatch(address) is None:
        report.error("bad-url", f"`{shown(address)}` is not the address of a scheduler; write tcp://HOST:PORT")
        return False
    if find_spec("distributed") is None:
        helps = ["run `pip install 'nczarr[dask]'`"]
        report.error("missing-library", "`--dask` needs `distributed`, which is not installed", helps=helps)
        return False
    return True


def indivisible(reason: str, report: Report) -> None:
    """Report indivisible-run: a cluster cannot do the run."""
    helps = ["without `--dask`, threads of this machine do the work"]
    report.error(
        "indivisible-run", f"a cluster needs a source and target that all its workers can reach; {reason}", helps=helps
    )
