"""Journal of an unfinished store: a key that exists from the first write to the last.

It identifies the run by a fingerprint of source and plan. An equal run may resume the store (`--resume`):
keys are atomic, so existing data keys are complete and have the bytes that this run would write. So the store
itself is the list of finished work. Readers refuse a store with a journal. It contains no secrets: the source
is in its displayable form.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

VERSION = 1


class Journal(NamedTuple):
    """Content of a journal.

    `fingerprint`: of source and plan, None for a source without identity (a stream, values in memory). `run`:
    unique identifier of the run that began the store, to detect concurrent ones. `state`: `clearing` while
    keys of an old store are removed, then `writing`.
    """

    fingerprint: str | None
    source: str = ""
    state: Literal["clearing", "writing"] = "writing"
    run: str = ""

    def bytes(self) -> bytes:
        """Return the document."""
        import json

        return (json.dumps({"nczarr_journal": VERSION, **self._asdict()}, indent=1) + "\n").encode()

    def is_of(self, other: Journal) -> bool:
        """Return whether both have the same fingerprint."""
        return self.fingerprint is not None and self.fingerprint == other.fingerprint


def parsed(data: bytes) -> Journal:
    """Parse a journal; other versions or damaged ones have no fingerprint."""
    import json

    try:
        found = json.loads(data)
        fingerprint, source, run = found.get("fingerprint"), found.get("source"), found.get("run", "")
        if found.get("nczarr_journal") != VERSION or not (isinstance(source, str) and isinstance(run, str)):
            return Journal(None)
        if not isinstance(fingerprint, str):
            return Journal(None, run=run)
        return Journal(fingerprint, source, "clearing" if found.get("state") == "clearing" else "writing", run)
    except (ValueError, AttributeError, RecursionError):
        return Journal(None)
