"""Errors of requests: which ones may pass, and their numbers."""

from __future__ import annotations

import errno

from nczarr.diagnostics.secrets import StorageOptions
from nczarr.plugins.remote.range_request import GivenUpError

_LASTING = (
    GivenUpError, FileNotFoundError, PermissionError, FileExistsError, IsADirectoryError, NotADirectoryError,
    NotImplementedError, TypeError, ValueError, KeyError, AttributeError,
)  # fmt: skip
"""Permanent failures."""

_PASSING_WORDS = ("connect", "timeout", "httpclient", "streaming", "incomplete", "checksum", "closed")
"""Words in names of transient botocore exceptions; the others are invalid requests."""


def number_of(error: Exception) -> int:
    """Return the errno of a failure; a broken pipe becomes ECONNRESET, to differ from our own output."""
    if isinstance(error, OSError) and error.errno:
        return errno.ECONNRESET if error.errno in (errno.EPIPE, errno.ESHUTDOWN) else error.errno
    kinds = ((FileNotFoundError, errno.ENOENT), (PermissionError, errno.EACCES), (FileExistsError, errno.EEXIST))
    return next((number for kind, number in kinds if isinstance(error, kind)), errno.EIO)


def may_pass(error: BaseException) -> bool:
    """Return whether a retry may succeed."""
    status = _status(error)
    if status is not None:
        return status >= 500 or status in (408, 425, 429)
    if isinstance(error, _LASTING):
        return False
    if type(error).__module__.startswith("botocore"):
        return any(word in type(error).__name__.lower() for word in _PASSING_WORDS)
    return True


def find_reason(error: Exception) -> Exception:
    """Return why a request failed; `info` of fsspec's HTTP says of every failure that the file is missing."""
    cause, status = error.__cause__, _status(error)
    if not isinstance(error, FileNotFoundError) or not isinstance(cause, Exception):
        return error
    is_of_web = isinstance(cause, OSError) or type(cause).__module__.startswith("aiohttp")
    is_absence = isinstance(cause, FileNotFoundError) if status is None else status < 500
    return cause if is_of_web and not is_absence else error


def _status(error: BaseException) -> int | None:
    """Return the HTTP status of an error or its cause, or None."""
    for failure in (error, error.__cause__):
        status = getattr(failure, "status", None)
        if isinstance(status, int):
            return status
        response = getattr(failure, "response", None)
        metadata = response.get("ResponseMetadata") if isinstance(response, dict) else None
        if isinstance(metadata, dict) and isinstance(metadata.get("HTTPStatusCode"), int):
            return int(metadata["HTTPStatusCode"])
    return None


def scrub(text: str, url: str, options: StorageOptions) -> str:
    """Return a message of a library without secrets."""
    from nczarr.plugins.common import secret_texts  # only where something failed

    return secret_texts.scrub(text, url, options)
