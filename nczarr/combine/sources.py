"""Sequential opening of a combination's sources."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from nczarr.arrays.thread_pool import Crew, Task
from nczarr.check.checked import Checked
from nczarr.diagnostics.report import Report
from nczarr.options import Subset
from nczarr.secrets import shown
from nczarr.stores.url import is_remote

AT_ONCE = 8
"""Remote sources read concurrently."""

Reader = Callable[[Report], Checked | None]
"""Reader of a dataset; None after a reported error. Raises OSError."""


def opened(
    sources: Sequence[tuple[str, Reader]],
    subset: Subset,
    report: Report,
    step: Callable[[int], None] | None = None,
) -> Iterator[tuple[str, Checked]]:
    """Yield each source with its name (mostly path or URL), as the wanted subset; stop at the first error.

    Remote sources are read concurrently. A note in each finding names its
    source. `step` is called after each source.
    """

    def one(name: str, read: Reader) -> tuple[Checked | None, Report]:
        from nczarr import pipeline

        own = Report(strict=report.strict)
        checked = read(own)
        if checked is not None and not own.errors:
            checked = pipeline.select(checked, subset, own)
        own.annotate(f"of `{shown(name)}`")
        return checked, own

    far = [is_remote(name) for name, _ in sources]
    tasks = (Task(partial(one, *source), here=not remote) for source, remote in zip(sources, far, strict=True))
    with Crew(AT_ONCE if any(far) else 1, 1) as crew:
        for (name, _), (checked, own) in zip(sources, crew.results(tasks), strict=True):
            for found in own.sorted():
                report.add(found)
            if checked is None or own.errors:
                return
            yield shown(name), checked
            if step is not None:
                step(1)


def home_of(paths: Sequence[str]) -> str | None:
    """Return the common folder or URL of all sources, or None."""
    if not any(map(is_remote, paths)):
        return os.path.commonpath([os.path.dirname(os.path.abspath(path)) for path in paths])
    folders = [path.rstrip("/").split("/")[:-1] for path in paths]
    common = [
        names[0] for names in itertools.takewhile(lambda names: len(set(names)) == 1, zip(*folders, strict=False))
    ]
    return "/".join(common) if len(common) > 2 and all(map(is_remote, paths)) else None
