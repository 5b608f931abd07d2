"""`icechunk`: one revision of a repository → a store of the data."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from nczarr.diagnostics.report import Report, Source
from nczarr.options import Options
from nczarr.plugins.icechunk.repositories import UnknownRevisionError
from nczarr.stores.base import Store
from nczarr.stores.reference_policy import Policy
from nczarr.stores.url import BadURLError

if TYPE_CHECKING:
    from nczarr.plugins.icechunk.session_store import RepositoryStore, SessionStore


def opens(source: Source | Store, report: Report, options: Options) -> SessionStore | None:
    """Return a revision as a store; None (reported) without it. Raises OSError."""
    repository = cast("RepositoryStore", source)
    before = report.errors
    try:
        store = repository.session(Policy(repository.home, options.reading.following), report)
    except UnknownRevisionError as error:
        report.error("bad-url", f"`{repository.path}`: {error}", helps=error.helps)
        return None
    except BadURLError as error:
        report.error("bad-url", f"`{repository.path}`: {error}")
        return None
    return store if report.errors == before else None


def is_repository(store: Store) -> bool:
    """Return whether a store is a repository, of which a revision is read."""
    return store.versioned
