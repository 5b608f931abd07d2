"""Journal of an unfinished store, which names the run that began it."""

from __future__ import annotations

from typing import Literal

from nczarr.names.records import NamedTuple

VERSION = 1


class StoreJournal(NamedTuple):
    """Content of the journal of an unfinished store: a key that exists from the first write to the last.

    It identifies the run by a fingerprint. An equal run may resume the store
    (`--resume`): keys are atomic, so existing data keys are complete and have
    the bytes that this run would write. So the store itself is the list of
    finished work. Readers refuse a store with a journal. It contains no
    secrets: the source is in its displayable form.
    """

    fingerprint: str | None
    """Fingerprint of source and plan; None for a source without identity: a stream, or values in memory."""
    source: str = ""
    """Path or URL of the source in its displayable form."""
    state: Literal["clearing", "writing"] = "writing"
    """`clearing` while keys of an old store are removed, then `writing`."""
    run: str = ""
    """Unique identifier of the run that began the store, to detect concurrent runs."""

    def bytes(self) -> bytes:
        """Return the document."""
        import json

        return (json.dumps({"nczarr_journal": VERSION, **self._asdict()}, indent=1) + "\n").encode()

    def is_of(self, other: StoreJournal) -> bool:
        """Return whether both have the same fingerprint."""
        return self.fingerprint is not None and self.fingerprint == other.fingerprint


def parse(data: bytes) -> StoreJournal:
    """Parse a journal; other versions or damaged ones have no fingerprint."""
    import json

    try:
        document = json.loads(data)
        fingerprint, source, run = document.get("fingerprint"), document.get("source"), document.get("run", "")
        if document.get("nczarr_journal") != VERSION or not (isinstance(source, str) and isinstance(run, str)):
            return StoreJournal(None)
        if not isinstance(fingerprint, str):
            return StoreJournal(None, run=run)
        return StoreJournal(fingerprint, source, "clearing" if document.get("state") == "clearing" else "writing", run)
    except (ValueError, AttributeError, RecursionError):
        return StoreJournal(None)
