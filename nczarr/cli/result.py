"""Result of a command that writes: the line for people, and the JSON object for programs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from nczarr.diagnostics.secrets import shown

if TYPE_CHECKING:
    from nczarr.plan.plans import Conversion

WAYS = ("referenced", "copied", "gathered", "transcoded", "rechunked", "encoded")
"""Routes of chunks in the summary."""


class CommandResult(NamedTuple):
    """Everything that one command has written."""

    command: str
    """Name of the command, such as `refs combine`."""
    target: str
    """Path or URL of the target; of several, their folder."""
    sources: int
    """Number of sources of the command line."""
    done: Sequence[Conversion]
    """Finished conversions, one for each target."""
    lengths: Mapping[str, int] = MappingProxyType({})
    """Lengths of the dimensions along which sources were joined, by FQN."""
    previous_lengths: Mapping[str, int] = MappingProxyType({})
    """Their lengths before the target was extended."""
    replaced_keys: int = 0
    """Number of keys of an extended target that have new content."""
    completed: bool = False
    """True if an interrupted run had written everything, and this one published it."""

    def record(self) -> dict[str, Any]:
        """Return the members of the JSON object."""
        return {
            "result": self.command,
            "target": shown(self.target),
            "targets": [shown(conversion.target) for conversion in self.done],
            "format": next((conversion.format for conversion in self.done if conversion.format), None),
            "sources": self.sources,
            "variables": sum(conversion.variables for conversion in self.done),
            "chunks": _chunks(self.done),
            "skipped_keys": sum(conversion.skipped_keys for conversion in self.done),
            "replaced_keys": self.replaced_keys,
            "bytes": _bytes(self.done),
            "lengths": dict(self.lengths),
            "previous_lengths": dict(self.previous_lengths),
            "losses": [
                {"target": shown(conversion.target), "kind": loss.kind, "path": loss.path, "message": loss.message}
                for conversion in self.done
                for loss in conversion.losses
            ],
            "verified_with": _readers(self.done),
            "completed": self.completed,
        }


def summary(done: Sequence[Conversion]) -> str:
    """Return one line with formats, variables, chunks by route, and bytes."""
    from nczarr.check.outline import bytes_text

    variables = sum(conversion.variables for conversion in done)
    words = list(dict.fromkeys(conversion.format for conversion in done))
    words.append(f"{variables} variable{'s' * (variables != 1)}")
    counts = _chunks(done)
    total = sum(counts.values())
    if total:
        ways = ", ".join(f"{count} {way}" for way, count in counts.items() if count)
        words.append(f"{total} chunk{'s' * (total != 1)} ({ways})")
    skipped = sum(conversion.skipped_keys for conversion in done)
    if skipped:
        words.append(f"{skipped} key{'s' * (skipped != 1)} of data {'were' if skipped != 1 else 'was'} already written")
    size = _bytes(done)
    if any(conversion.verified_with for conversion in done):
        foreign = (reader for reader in _readers(done) if reader != "nczarr")
        words.append(" ".join(["verified", *(f"with {reader}" for reader in foreign)]))
    return ", ".join([*words, bytes_text(size)] if size else words)


def _size(path: str) -> int:
    """Return the size of a single-file target."""
    return os.path.getsize(path) if os.path.isfile(path) else 0


def _chunks(done: Sequence[Conversion]) -> dict[str, int]:
    """Return the number of chunks by route."""
    return {way: sum(getattr(conversion, f"{way}_chunks") for conversion in done) for way in WAYS}


def _bytes(done: Sequence[Conversion]) -> int:
    """Return the encoded size of all chunks, or the size of files."""
    return sum(conversion.bytes or _size(conversion.target) for conversion in done)


def _readers(done: Sequence[Conversion]) -> list[str]:
    """Return the readers that found every target equal to its source, each once."""
    return sorted({reader for conversion in done for reader in conversion.verified_with})
