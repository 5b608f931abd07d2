"""Members of archives as sources of their own: for commands that take several sources, and from Python."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence

from nczarr.cli import DONE, complain
from nczarr.cli.parser import RunWrapper
from nczarr.diagnostics.report import CompileError
from nczarr.diagnostics.secrets import show
from nczarr.stores import local_paths
from nczarr.stores.url import is_remote

SEVERAL = frozenset(("combine", "refs combine", "append", "refs append", "check", "digest", "info"))
"""Commands whose sources are expanded."""

LAST_IS_TARGET = "combine"
"""Command whose last source is the target unless an option names it."""


def members(path: str | os.PathLike[str]) -> list[str]:
    """Return the paths that open the datasets in an archive.

    A ZIP archive may be compressed, a tar archive also as a whole. A folder with the documents of a store is one
    dataset. Members that are no datasets, such as a text about the licence, are left out.

    Parameters
    ----------
    path : str or os.PathLike
        Path of a local file.

    Returns
    -------
    list of str
        Paths of the members by name, such as `era.nc/instant.nc`, for `nczarr.open` and wherever else a path is
        taken. The path itself if it is no archive of several datasets: `nczarr.open` then opens the only one.

    Raises
    ------
    CompileError
        If the archive is damaged, or too large for unpacking it by the way.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import nczarr, zipfile
    >>> for name, value in (("a.nc", "1"), ("b.nc", "2")):
    ...     text = "netcdf n { dimensions: t = UNLIMITED ; variables: int v(t) ; data: v = %s ; }"
    ...     _ = nczarr.write(nczarr.from_cdl(text % value), name)
    >>> with zipfile.ZipFile("both.nc", "w") as archive:
    ...     archive.write("a.nc")
    ...     archive.write("b.nc")
    >>> nczarr.members("both.nc")
    ['both.nc/a.nc', 'both.nc/b.nc']
    >>> nczarr.combine(nczarr.members("both.nc"), along="t")["v"][:].tolist()
    [1, 2]
    """
    from nczarr.plugins.downloads.kinds import HEAD, find_kind

    place = os.fspath(path)
    if os.path.isfile(place):  # most are no archives, and need no module that opens one
        with open(place, "rb") as file:
            if find_kind(file.read(HEAD)) is None:
                return [place]
    from nczarr.plugins.downloads.open import list_places, locate, split_member

    try:
        outer, inner = (place, "") if os.path.lexists(place) else split_member(place)
    except NotADirectoryError:  # said by what opens it
        return [place]
    if os.path.isdir(outer):
        return [place]
    content = locate(outer, outer)
    return [place] if find_kind(content.read_head()) is None else list_places(content, inner)


def run(arguments: argparse.Namespace, call: Callable[[argparse.Namespace], int], words: Sequence[str]) -> int:
    """Run a command with the members of archives in the place of these; return the status."""
    command = arguments.command
    if command in SEVERAL and isinstance(getattr(arguments, "sources", None), list):
        has_target = command == LAST_IS_TARGET and getattr(arguments, "target", None) is None
        target = arguments.sources[-1:] if has_target else []
        sources = arguments.sources[: len(arguments.sources) - len(target)]
        arguments.sources = [each for source in sources for each in _expand(source)] + target
    elif command == "diff" and isinstance(arguments.second, str) and not arguments.git:
        pairs = _list_pairs(arguments.first, arguments.second)
        if len(pairs) > 1:
            return max(_compare(arguments, call, *pair) for pair in pairs)
    return call(arguments)


def _expand(source: str) -> list[str]:
    """Return the members of a source that is an archive of several datasets; any other source as it is."""
    if source == "-" or is_remote(source):
        return [source]
    try:
        return members(source)
    except (CompileError, OSError, ImportError):  # said by the command when it opens the source
        return [source]


def _list_pairs(first: str, second: str) -> list[tuple[str | None, str | None]]:
    """Return the members of two archives by name, None for what only the other one has; one pair for other sources.

    The name is the last one of the path, or the path where that is ambiguous.
    """
    every = [(source, _expand(source)) for source in (first, second)]
    if any(len(places) < 2 for _, places in every):
        return [(None, None)]
    by_name = [{local_paths.name_of(place): place for place in places} for _, places in every]
    if any(len(names) < len(places) for names, (_, places) in zip(by_name, every, strict=True)):
        by_name = [{place[len(source) :]: place for place in places} for source, places in every]
    return [(by_name[0].get(name), by_name[1].get(name)) for name in sorted({*by_name[0], *by_name[1]})]


def _compare(
    arguments: argparse.Namespace, call: Callable[[argparse.Namespace], int], first: str | None, second: str | None
) -> int:
    """Compare two members; return the status, 1 if only one archive has it."""
    if first is None or second is None:
        complain(f"only in one archive: {show(first or second or '')}")
        return 1
    complain(f"{show(first)} and {show(second)}:")
    return call(argparse.Namespace(**{**vars(arguments), "first": first, "second": second})) or DONE


WRAPPER = RunWrapper((), run)
