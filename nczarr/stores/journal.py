"""The journal of an unfinished store: a key that is there from the first thing written to the last.

It says which run the store is of, by the fingerprint of the source and of what is made of it. Whoever makes the same of
the same may go on with the store (`--resume`): a key of data that is there is whole, because no key appears in part,
and has the bytes that this run would give it. So the store itself is the list of what is finished. Readers refuse a
store that has a journal. It holds no secret: the source stands in it as people may see it.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

VERSION = 1


class Journal(NamedTuple):
    """What stands in a journal.

    `fingerprint`: of source and plan, None where the source cannot be known again (a stream, values in memory).
    `run`: of whoever has begun the store, another one each time, so that two that are at it at once can tell.
    `state`: `clearing` while the keys of an old store are removed, then `writing`.
    """

    fingerprint: str | None
    source: str = ""
    state: Literal["clearing", "writing"] = "writing"
    run: str = ""

    def bytes(self) -> bytes:
        """The document."""
        import json

        return (json.dumps({"nczarr_journal": VERSION, **self._asdict()}, indent=1) + "\n").encode()

    def is_of(self, other: Journal) -> bool:
        """Whether both are of the same run."""
        return self.fingerprint is not None and self.fingerprint == other.fingerprint


def parsed(data: bytes) -> Journal:
    """The journal of a document; one of no run if it is of another version, or damaged."""
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
