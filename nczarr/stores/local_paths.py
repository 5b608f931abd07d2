"""Paths of files as the system resolves them: the only module that joins, splits, compares or relates them.

`link/../x` is a file beside the folder that `link` leads to, and `sub/../x` does not exist without `sub`. Functions
that shorten such texts without looking at the disk (`os.path.abspath`, `normpath`) name other files there. Here a text
is shortened only where that changes nothing. Links keep their names, which users and documents use, except in `real`.
"""

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager


def absolute(path: str) -> str:
    """Return the absolute path of the file that a path names now; links keep their names, unless `..` follows.

    A folder that is missing before `..` stays, so that the system says what is missing.
    """
    if os.pardir not in path:
        return os.path.abspath(path)
    place = os.sep
    for name in os.path.join(os.getcwd(), path).split(os.sep):
        if name == os.pardir:
            place = os.path.dirname(real(place)) if os.path.isdir(place) else os.path.join(place, name)
        elif name not in ("", os.curdir):
            place = os.path.join(place, name)
    return place


def real(path: str, *, must_exist: bool = False) -> str:
    """Return the path of a file without links. Equal files have equal ones, apart from hard links.

    Raises OSError for a missing file that must exist, and a circle of links to it.
    """
    return os.path.realpath(path, strict=must_exist)


def is_folder(path: str) -> bool:
    """Return whether a path leads to a folder. Raises OSError if it cannot be looked at, as from a broken disk.

    `os.path.isdir` returns False then, and to open the folder as a file fails for another reason.
    """
    try:
        return stat.S_ISDIR(os.stat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return False


@contextmanager
def add_path_to_errors(path: str) -> Iterator[None]:
    """Name a file in errors of the system and of libraries, which say why, not where."""
    try:
        yield
    except OSError as error:
        if error.errno and error.filename is None:
            error.filename = path
        raise


def join(folder: str, *names: str) -> str:
    """Return the path of something below a folder."""
    return os.path.join(folder, *names)


def split(path: str) -> tuple[str, str]:
    """Return the folder of a path as it is written, empty for the current one, and the name in it.

    A path that ends in `..` or `.` is resolved first: its last name is not that of a file.
    """
    folder, name = os.path.split(path.rstrip(os.sep) or path)
    return os.path.split(absolute(path)) if name in (os.curdir, os.pardir) else (folder, name)


def parent_of(path: str) -> str:
    """Return the folder of a path, as `split`."""
    return split(path)[0]


def name_of(path: str) -> str:
    """Return the name of a file in its folder, as `split`; empty for the top of the file system."""
    return split(path)[1]


def stem_of(path: str) -> str:
    """Return a path without its suffix."""
    return os.path.splitext(path)[0]


def suffix_of(path: str) -> str:
    """Return the suffix of a path with its point; empty without one."""
    return os.path.splitext(path)[1]


def entry(path: str) -> str:
    """Return the place that a path names in its folder: links of the folder are followed, not the last name."""
    folder, name = os.path.split(absolute(path))
    return os.path.join(real(folder), name)


def folder_of(path: str) -> str:
    """Return the absolute path of the folder that has a file."""
    return os.path.dirname(absolute(path))


def are_neighbours(path: str, other: str) -> bool:
    """Return whether two files are in one folder."""
    return real(folder_of(path)) == real(folder_of(other))


def walk(folder: str) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield each folder below one with the names of its folders and files, as `os.walk`.

    A missing folder is empty. Raises OSError for one that cannot be listed: what is in it is not missing.
    """

    def fail(error: OSError) -> None:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG):
            raise error

    return os.walk(folder, onerror=fail)


def tidy(path: str) -> str:
    """Return a path without trailing slashes, which still names the same entry: that of a target."""
    stripped = path.rstrip(os.sep)
    return absolute(path) if os.path.basename(stripped) in ("", os.curdir, os.pardir) else stripped


def relative(path: str, folder: str) -> str:
    """Return the path of a file from a folder, as the system follows it: `..` leads out of where a link leads."""
    return os.path.relpath(entry(path), real(folder))


def segments_below(path: str, folder: str) -> tuple[str, ...] | None:
    """Return the names that lead from a folder to a file, whatever links name both; None if it is not below it."""
    inner, outer = real(path), real(folder).rstrip(os.sep) + os.sep
    return tuple(filter(None, inner[len(outer) :].split(os.sep))) if f"{inner}{os.sep}".startswith(outer) else None


def common_folder(paths: Iterable[str]) -> str:
    """Return the deepest folder that has all files."""
    return os.path.commonpath([folder_of(path) for path in paths])
