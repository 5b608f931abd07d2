"""Unfinished store for a plan: a folder or an archive, local or at a URL; new or resumed; and what a cluster can do."""

from __future__ import annotations

import itertools
import math
import os
import re
from importlib.util import find_spec
from typing import NamedTuple

from nczarr import __version__
from nczarr.arrays.regions import grid_of
from nczarr.arrays.sources.source import itemsize
from nczarr.diagnostics.report import Report
from nczarr.diagnostics.secrets import shown
from nczarr.link.tasks import arrays
from nczarr.plan.plans import StorePlan
from nczarr.registry import Format
from nczarr.stores.base import Store
from nczarr.stores.finish import StoreJournal
from nczarr.stores.url import is_remote

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


class Begun(NamedTuple):
    """An unfinished store, and the path or URL where it is readable before it is finished."""

    store: Store
    """The unfinished store."""
    place: str
    """Path or URL where it is readable before it is finished."""


def begun(path: str, plan: StorePlan) -> Begun:
    """Begin the store for a path or URL. Raises OSError, FileExistsError if the place is taken."""
    if plan.form.begins is not None:
        from nczarr.registry import load

        return Begun(*load(plan.form.begins)(path, plan, lambda: _folder(path, plan).store))
    return _archive(path, plan) if path.lower().endswith(".zip") else _folder(path, plan)


def has_room(path: str, plan: StorePlan, report: Report) -> bool:
    """Return whether local file names have room for the documents of all nodes. Reports unsafe-name."""
    if not plan.places or plan.form.begins is not None or path.lower().endswith(".zip") or is_remote(path):
        return True
    from nczarr.plan.keys import LONGEST_IN_FILES, long_segments

    before = report.errors
    for subject, length, span in long_segments(plan.checked, plan.places, LONGEST_IN_FILES):
        text = f"{subject} needs {length} characters, but the file name of its document has at most {LONGEST_IN_FILES}"
        report.error("unsafe-name", text, span, helps=["write an archive (`.zip`) or a bucket, or rename it"])
    return report.errors == before


MANY_FILES = 100_000
"""Files in a folder above which the file system needs most of the time."""


def warn_of_files(path: str, plan: StorePlan, report: Report) -> None:
    """Report many-files, before the work, for a folder that would get one file for each of very many chunks."""
    if is_remote(path) or path.lower().endswith(".zip") or plan.form.begins is not None:
        return
    count = 0
    for array in arrays(plan):
        layout = array.target.layout
        number = math.prod(grid_of(layout.shape, array.unit))
        if array.target.sparse and count + number > MANY_FILES:
            number = sum(1 for _ in itertools.islice(array.indices(), MANY_FILES + 1))
        count += number
    if count <= MANY_FILES:
        return
    capabilities = plan.form.capabilities.arrays
    sharded = "--shards auto" if capabilities is not None and capabilities.shards else "--to zarr3 --shards auto"
    text = f"`{path}` gets more than {MANY_FILES:,} files, one for each chunk"
    report.warning(
        "many-files", text, helps=[f"`{sharded}` stores many chunks in one file", "or give longer `--chunks`"]
    )
    report.announce()


def _folder(path: str, plan: StorePlan) -> Begun:
    """Begin a folder, or keys below a URL."""
    options = plan.options
    if is_remote(path):
        from nczarr.stores.remote_target import RemoteTarget

        storage = options.storage.of("target")
        return Begun(
            RemoteTarget(path, storage, journal=journal(plan), overwrite=options.overwrite, resume=options.resume),
            path,
        )
    from nczarr.stores.directory import DirectoryTarget

    run_journal = journal(plan) if options.resume or data_size(plan) >= RESUMABLE else None
    folder = DirectoryTarget(path, overwrite=options.overwrite, journal=run_journal, resume=options.resume)
    return Begun(folder, folder.path)


def _archive(path: str, plan: StorePlan) -> Begun:
    """Begin an archive; it cannot be resumed because its directory is at its end."""
    if is_remote(path):
        from nczarr.stores.remote_target import SentZip

        sent = SentZip(path, plan.options.storage.of("target"))
        return Begun(sent, sent.path)
    from nczarr.stores.zip import ZipTarget

    archive = ZipTarget(path, overwrite=plan.options.overwrite)
    return Begun(archive, archive.path)


RESUMABLE = 64 << 20
"""Data size that is worth resuming; smaller local runs start again."""


def journal(plan: StorePlan) -> StoreJournal:
    """Return the journal of a run. Raises OSError if the source is unreachable."""
    from nczarr.stores.stat import identity

    options, run = plan.options, os.urandom(8).hex()
    if options.source is None:
        return StoreJournal(None, run=run)
    source_identity = identity(options.source, options.storage.of("source"))
    return StoreJournal(
        None if source_identity is None else fingerprint(plan, source_identity), shown(options.source), run=run
    )


def fingerprint(plan: StorePlan, identity: str) -> str:
    """Return the fingerprint of a plan for a source with this identity: equal for the same source and target.

    A resumed run compares it to recognize its own work in the target.
    """
    import hashlib  # loads a library: only where there is a journal

    text_hash = hashlib.sha256()
    for text in (
        __version__,
        plan.form.name,
        identity,
        repr(plan.checked.dataset),
        plan.options.fingerprint,
        *(repr((path, targets)) for path, targets in plan.targets.items()),
    ):
        data = text.encode("utf-8", "surrogateescape")
        text_hash.update(len(data).to_bytes(8, "little") + data)
    return text_hash.hexdigest()


def data_size(plan: StorePlan) -> int:
    """Return the decoded size of all target arrays; texts count as zero."""
    layouts = (target.layout for targets in plan.targets.values() for target in targets.values())
    return sum(math.prod(layout.shape) * itemsize(layout.dtype) for layout in layouts)
