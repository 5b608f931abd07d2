"""Refused requests: errors become a status with a text for the client, without a traceback or a path of the server."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable

from nczarr.diagnostics.report import CompileError, Diagnostic, Severity
from nczarr.plugins.serve.resources import BusyServerError
from nczarr.stores.local_file import ReplacedError

UNKNOWN = 404
"""Status of files in no known format; the beginning of a file may be in none."""

UNREADABLE = 422
"""Status of datasets that have errors: the server works, and to ask again does not help."""

BUSY = 503
"""Status of files that another process seems to be writing, and of a server without room."""

RETRY, SOON = (("Retry-After", "2"),), (("Retry-After", "1"),)
"""Headers of answers with that status; the second of those that need a moment."""

FORBIDDEN = frozenset({"forbidden-target"})
"""Codes of targets that the server may not read: they become status 403."""

ALLOW = "`nczarr serve --source-root PLACE` allows it"
"""Remedy for targets outside the roots of a server."""


class RefusedRequestError(Exception):
    """A refused request: HTTP status and text for the client."""

    def __init__(self, status: int, text: str, headers: tuple[tuple[str, str], ...] = ()) -> None:
        super().__init__(text)
        self.status = status
        self.text = text
        self.headers = headers


def describe_refusal(error: Exception, home: str) -> RefusedRequestError:
    """Return the refusal for an error. `home`: the path of the root, which the text omits."""
    match error:
        case RefusedRequestError():
            return error
        case BusyServerError():
            return RefusedRequestError(BUSY, f"the server is busy: {error}", RETRY)
        case CompileError():
            status = 403 if any(each.code in FORBIDDEN for each in error.diagnostics) else UNREADABLE
            return RefusedRequestError(status, words(error.diagnostics, home))
        case ReplacedError():
            return RefusedRequestError(BUSY, "the dataset has changed in the meantime", RETRY)
        case OSError(errno=errno.ELOOP):
            return RefusedRequestError(403, f"a part of the dataset is {error.strerror}")
        case OSError(errno=errno.EBADMSG | errno.EFBIG | errno.EINVAL):  # the content, not the system, is at fault
            return RefusedRequestError(UNREADABLE, f"the dataset cannot be read: {error.strerror}")
        case MemoryError():
            return RefusedRequestError(413, "the answer needs more memory than the server has: ask for a part")
        case OSError(errno=errno.ENOENT | errno.ENOTDIR | errno.EISDIR, filename=str(path)) if _is_target(path, home):
            # not 404: a chunk that does not exist has fill values
            text = f"the dataset needs `{without_home(path, home)}`: {error.strerror}"
            return RefusedRequestError(UNREADABLE, text)
        case OSError():
            return RefusedRequestError(500, f"the dataset cannot be reached: {error.strerror or 'no reason given'}")
        case _:
            return RefusedRequestError(500, "internal error of the server; `--verbose` writes details to its log")


def _is_target(path: str, home: str) -> bool:
    """Return whether a path leads to a file below a root that is there."""
    return path.startswith(home.rstrip(os.sep) + os.sep) and os.path.isdir(home)


INSTEAD = {"several-members": ("unpack it: a server offers no members of archives",)}
"""Helps for clients and operators by code, where those of commands do not fit."""


def words(diagnostics: Iterable[Diagnostic], home: str) -> str:
    """Return diagnostics as lines for a client, without source lines and server paths.

    Targets outside the roots are one line: other diagnostics follow from them.
    """
    diagnostics = list(diagnostics)
    outside = [each for each in diagnostics if each.code in FORBIDDEN]
    if outside:
        more = f" (and {len(outside) - 1} more)" if len(outside) > 1 else ""
        return without_home(f"error[{outside[0].code}]: {outside[0].message}{more}; {ALLOW}", home)
    lines = []
    for each in diagnostics:
        if each.severity is not Severity.NOTE:
            lines.append(f"{each.severity}[{each.code}]: {each.message}{_where(each)}")
            helps = INSTEAD.get(each.code, each.helps)
            lines += [f"  help: {text}" for text in helps if "`--" not in text]
    return without_home("\n".join(lines), home)


def _where(diagnostic: Diagnostic) -> str:
    label = diagnostic.primary
    if label.key is not None:
        return f" (at {label.key}{'#' + label.pointer if label.pointer else ''})"
    return "" if label.span.source is None else f" (at {label.span.source.place(label.span.start)})"


def without_home(text: str, home: str) -> str:
    """Return a text without the path of the root: clients know only names below it."""
    return text.replace(home.rstrip(os.sep) + os.sep, "").replace(home, ".")
