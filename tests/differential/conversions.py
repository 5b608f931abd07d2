"""One draw from end to end: make a source, convert it, and compare what the judges read of both."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from nczarr.diagnostics.report import VALUE_LOSSES
from tests.conftest import Ran, run_command

from . import hdf5, netcdf, stores
from .elements import Source
from .equality import attribute_difference, difference
from .operations import TARGETS, Operation, operations
from .worker import Judge

Judges = Mapping[str, Judge]

SECOND = "second.nc"

KNOWN: list[str] = []
"""Regular expressions of faults that the search passes over, to find those behind them."""

FAULTS = {"ambiguous-node", "bad-metadata", "draft-layout", "duplicate-name", "unreadable-array"}
"""Losses that no source of these scripts may have: the libraries that wrote them read them."""
ANNOUNCED = (VALUE_LOSSES - FAULTS) | {
    "oversized-chunk",
    "refused-storage",
    "unavailable-filter",
    "unequal-sources",
    "unmatched-dimension",
}
"""Codes with which a conversion may refuse: the source holds what the target cannot."""


class DifferenceError(AssertionError):
    """A conversion that changed or lost something without a word; the script shows it."""


class KnownError(Exception):
    """A fault that the search was asked to pass over."""


def script(source: Source, commands: list[list[str]], path: Path) -> str:
    """A program and commands that show a failure, to be pasted into a shell."""
    lines = [f"cat > source.py <<'END'\nimport numpy as np\npath = 'source{source.suffix}'\n{source.script}\nEND"]
    lines.append(
        f"python source.py  # {'the newest zarr-python' if source.process == 'new' else source.reader} reads it back"
    )
    lines += [" ".join(["nczarr", *map(_quoted, each)]).replace(f"{path}/", "") for each in commands]
    return "\n".join(lines)


def _quoted(word: str) -> str:
    return f"'{word}'" if set(word) & set(" ();:*=") else word


class Trial:
    """One source, its truth, and conversions of it. What happened is counted in `counts`."""

    def __init__(
        self, source: Source, judges: Judges, counts: Counter[str], announced: frozenset[str] | None = ANNOUNCED
    ) -> None:
        """Prepare a folder. `announced`: codes with which a conversion may refuse, None: any but `internal-error`."""
        self.source, self.judges, self.counts, self.announced = source, judges, counts, announced
        self.folder = Path(tempfile.mkdtemp(prefix="differential-"))
        self.path = self.folder / f"source{source.suffix}"
        self.truth: dict[str, dict[str, Any]] = {}
        self.last = self.path
        """What the last conversion made."""

    def close(self) -> None:
        """Remove every file."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def make(self) -> bool:
        """Make the source and read it by its own library; False if that library refuses."""
        judge = self.judges[self.source.process]
        try:
            judge.make(self.source.script, self.path)
            self.truth = judge.see(self.source.reader, self.path)
        except ValueError as error:
            self.counts[f"refused by its library: {self.source.reader}: {str(error)[:70]}"] += 1
            return False
        return True

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of all variables that the library reads."""
        return {name: np.shape(each) for name, each in self.truth["arrays"].items() if not isinstance(each, str)}

    def run(self, operation: Operation) -> None:
        """Convert and compare. Raises DifferenceError."""
        commands: list[list[str]] = []
        before, said = self.path, ""
        truth = self.truth
        if operation.joined is not None:
            second = self._second(operation.joined)
            if second is None:
                return
            truth = joined(truth, second, self.source.growing)
        hops = list(operation.hops)
        judged = hops[-1] if TARGETS[hops[-1]].readers else "nc4"
        if not TARGETS[hops[-1]].readers:
            hops.append("nc4")
        for number, hop in enumerate(hops):
            target = self.folder / f"{len(list(self.folder.iterdir()))}-{hop}{TARGETS[hop].suffix}"
            command = ["convert", str(before), str(target), *TARGETS[hop].arguments]
            if number == 0 and operation.joined is not None:
                command = [
                    "refs",
                    "combine",
                    str(before),
                    str(self.folder / SECOND),
                    "--along",
                    str(self.source.growing),
                    "--unsorted",
                ]
                command += ["-o", str(target), *TARGETS[hop].arguments]
            command += operation.part if number == 0 else ()
            command += operation.arguments if number == len(operation.hops) - 1 else ()
            commands.append(command)
            done = run_command(*command, "--message-format", "json", "--no-progress")
            said += done.err
            if done.status:
                self._refused(done, commands, said)
                return
            before = self.last = target
        self.counts[f"converted: {' > '.join(operation.hops)}"] += 1
        readers = [each for each in TARGETS[judged].readers if each[0] in self.judges]
        if operation.reader is not None:
            readers = [readers[operation.reader % len(readers)]]
        for process, reader in readers:
            try:
                seen = self.judges[process].see(reader, before)
            except ValueError as error:
                raise self._different(commands, f"{reader} ({process}): {error}", said) from None
            for text in self._differences(operation, truth, seen, said, _partial(judged, reader)):
                raise self._different(commands, f"{reader} ({process}): {text}", said)

    def _refused(self, done: Ran, commands: list[list[str]], said: str) -> None:
        """Count a refusal that is announced. Raises DifferenceError for one that is a fault."""
        found = [json.loads(line) for line in done.err.splitlines() if line.startswith("{")]
        errors = [each for each in found if each["severity"] == "error"]
        codes = {each["code"] for each in errors}
        known = codes if self.announced is None else self.announced
        if any(isinstance(values, str) for values in self.truth["arrays"].values()):
            known = known | {"unreadable-chunk"}  # its own library does not read it either
        if done.status != 1 or not codes or "internal-error" in codes or not known >= codes:
            text = "; ".join(f"{each['code']}: {each['message']}" for each in errors[:3]) or done.err[-300:]
            raise self._different(commands, f"status {done.status}: {text}", done.err)
        self.counts[f"refused: {', '.join(sorted(codes))}"] += 1

    def _different(self, commands: list[list[str]], text: str, said: str) -> Exception:
        for known in KNOWN:
            if re.search(known, text):
                self.counts[f"known: {known}"] += 1
                return KnownError(text)
        return DifferenceError(f"{text}\n{script(self.source, commands, self.folder)}\n{said[:1500]}")

    def _second(self, left_out: int) -> dict[str, dict[str, Any]] | None:
        """Make a source without one of the writes, and read it by its own library; None if that library refuses."""
        lines = self.source.script.splitlines()
        writes = [number for number, line in enumerate(lines) if line.startswith("d[")]
        if writes:
            del lines[writes[left_out % len(writes)]]
        judge, path = self.judges[self.source.process], self.folder / SECOND
        path.unlink(missing_ok=True)
        try:
            judge.make("\n".join(lines), path)
            return judge.see(self.source.reader, path)
        except ValueError:
            return None

    def _differences(
        self,
        operation: Operation,
        truth: Mapping[str, Any],
        seen: Mapping[str, Any],
        said: str,
        partial: frozenset[str],
    ) -> list[str]:
        """What differs from the truth without a word, but for what the reader cannot show (`partial`)."""
        found = []
        for name, values in truth["arrays"].items():
            if operation.only is not None and name != operation.only:
                continue
            undefined = self.source.undefined.get(name)
            if operation.region is not None and not isinstance(values, str):
                values = values[operation.region]
                undefined = None if undefined is None else undefined[operation.region]
            if name not in seen["arrays"]:
                if isinstance(values, str):
                    continue  # its own library does not read it
                opaque = "opaque" in partial and np.asarray(values).dtype.kind == "V"
                if not opaque and "hidden" not in partial and name not in said:
                    found.append(f"{name} is lost without a word")
                continue
            if "short" in partial and np.shape(seen["arrays"][name]) != np.shape(values):
                continue
            text = difference(
                values, seen["arrays"][name], undefined, payloads="unusual NaNs" not in said, raw="raw" in partial
            )
            if text is not None and ("undefined filter" in text or "hidden" in partial) and text.startswith("error: "):
                continue  # the reader has no such filter or type
            if text is not None:
                found.append(f"{name}: {text}")
                continue
            wanted = truth["attributes"].get(name, {})
            found += _attributes(name, wanted, seen["attributes"].get(name, {}))
        if operation.only is None and "hidden" not in partial:
            found += _attributes("", truth["attributes"].get("", {}), seen["attributes"].get("", {}))
        return found


def joined(
    truth: dict[str, dict[str, Any]], second: dict[str, dict[str, Any]], along: str | None
) -> dict[str, dict[str, Any]]:
    """The truth of two sources one behind the other; other dimensions have the same length, or nothing is compared."""
    arrays = {}
    for name, values in truth["arrays"].items():
        dimensions = truth["dimensions"].get(name, ())
        other = second["arrays"].get(name)
        if along in dimensions and not isinstance(values, str) and not isinstance(other, str):
            axis = dimensions.index(along)
            first, last = np.asarray(values), np.asarray(other)
            if np.delete(first.shape, axis).tolist() == np.delete(last.shape, axis).tolist():
                arrays[name] = np.concatenate([first, last], axis)
        else:
            arrays[name] = values
    return {**truth, "arrays": arrays}


def _partial(judged: str, reader: str) -> frozenset[str]:
    """What a reader does not show of a target, though it is there."""
    if reader == "hdf5":  # a variable may end before its dimension
        return frozenset({"short"})
    if reader == "netcdf":
        return frozenset({"hidden", "opaque"} if judged == "nczarr" else {"opaque"})
    return frozenset({"raw"} if judged in ("nczarr", "zip", "nczarr3", "refs2", "refs3") else ())


def _attributes(name: str, truth: Mapping[str, Any], seen: Mapping[str, Any]) -> list[str]:
    """What differs in the attributes that a draw gave."""
    found = []
    for each, value in truth.items():
        if not each.startswith("att"):
            continue
        text = "is lost" if each not in seen else attribute_difference(value, seen[each])
        if text is not None:
            found.append(f"{name}:{each}: {text}")
    return found


def sources(newest: bool) -> st.SearchStrategy[Source]:
    """Sources of every library that is there."""
    every = [hdf5.files(), hdf5.files(), netcdf.files(), netcdf.files(), stores.zarr(), stores.tensorstore()]
    if newest:
        every.append(stores.zarr("new"))
    if shutil.which("ncgen") and shutil.which("nccopy"):
        every.append(netcdf.copies())
    return st.one_of(every)


def trial(data: Any, judges: Judges, counts: Counter[str], most: int = 3) -> None:
    """Draw a source and some conversions of it. Raises DifferenceError."""
    source = data.draw(sources("new" in judges))
    made = Trial(source, judges, counts)
    try:
        if made.make():
            every = data.draw(
                st.lists(
                    operations(made.shapes(), joins=bool(made.source.growing and not made.source.undefined)),
                    min_size=1,
                    max_size=most,
                )
            )
            for operation in every:
                counts["draws"] += 1
                with suppress(KnownError):
                    made.run(operation)
    finally:
        made.close()
