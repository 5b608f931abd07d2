"""Refused requests: errors become a status with a text, in the form that the client shows.

Browsers get pages, clients of OPeNDAP the error documents of their protocol,
all others text. No client gets a traceback or a path of the server.
"""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus

from nczarr.diagnostics.report import CompileError
from nczarr.serve.answers import HTML, HttpAnswer, text
from nczarr.serve.dataset_cache import BUSY, FORBIDDEN, RETRY, RefusedRequestError, words
from nczarr.serve.pages.markup import page
from nczarr.serve.workers import BusyServerError
from nczarr.stores.local_file import ReplacedError

UNREADABLE = 422
"""Status of datasets that have errors: the server works, and to ask again does not help."""


def refused(error: Exception, home: str) -> RefusedRequestError:
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
        case OSError():
            return RefusedRequestError(500, f"the dataset cannot be reached: {error.strerror or 'no reason given'}")
        case _:
            return RefusedRequestError(500, "internal error of the server; `--verbose` writes details to its log")


def answer(
    refusal: RefusedRequestError, document: Callable[[RefusedRequestError], HttpAnswer] | None, accepted: str
) -> HttpAnswer:
    """Return the answer for a refusal.

    `document`: error document of the protocol, if it has one; `accepted`: the header `Accept`.
    """
    if "text/html" in accepted:
        title = f"{refusal.status} {HTTPStatus(refusal.status).phrase}"
        html = page("error.html", title, words=refusal.text.rstrip())
        return HttpAnswer(html, HTML, refusal.status, refusal.headers)
    return document(refusal) if document is not None else text(refusal.status, refusal.text, refusal.headers)
