r"""Pages of the diagnostic codes and of the kinds of difference, read on demand.

A page is a Markdown file named after its code, with these parts in order:

    # lost-nil

    - Severity: error
    - Subject: Losses

    The meaning, in prose.

    ```cdl
    the smallest input that is reported with this code and no other
    ```

    ```message
    what nczarr prints for it
    ```

    **What to do.** The remedy, in prose.

Only a code that no input can cause has no example. The word after its fence is for readers: the program recognises
examples by their content. A block of commands (`$ …`) has their standard input below them. A block of `== key` is a
store. With the second word `bytes`, `\xHH` stands for one byte, and a backslash continues a line.

Invariants, all tested: names are adjective-noun in lower case, never reused or renamed; each example is reported with
exactly its code and its message; every code in the source has a page, and every page is used.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import NamedTuple

from nczarr.diagnostics.report import Severity
from nczarr.names.plugin_index import list_folders

SUBJECTS = (
    "Characters and constants", "Grammar", "Names and types", "Values", "Storage and special attributes",
    "Stores that are read", "Damage in data", "Parts of datasets",
    "Reference documents", "Targets of reference documents", "Combining datasets",
    "Awkward 0.x persistence", "Ragged arrays", "Messages of ncstream", "OPeNDAP", "Schemas", "CF conventions",
    "Other readers: stores and attributes", "Other readers: arrays and dimensions",
    "Other readers: zarr-python and xarray", "Other readers: layouts",
    "Kinds of file and targets", "Losses", "Losses in reading", "Classic netCDF files", "Streams of points",
    "Files and runs", "Kinds of difference", "Kinds of change",
)  # fmt: skip
"""Sections of the index of codes in order; the last two contain the kinds of difference, and of change."""


class Code(NamedTuple):
    """A diagnostic code with its page."""

    name: str
    severity: Severity
    """Severity: error, warning or note."""
    subject: str
    """Title of its section."""
    meaning: str
    """Explanation."""
    example: str
    """Smallest input reported with this code, or empty. Invalid UTF-8 bytes are surrogates."""
    remedy: str
    message: str = ""
    """Output for the example, or empty where it depends on the installation."""

    @property
    def summary(self) -> str:
        """First sentence of the meaning."""
        return self.meaning.split(". ")[0].rstrip(".") + "."


_PROSE = r"(?P<{}>[^\n]+(?:\n[^\n]+)*)\n"
_PARTS = {
    "title": r"# (?P<name>.+)\n\n",
    "severity": r"- Severity: (?P<severity>error|warning|note)\n",
    "subject": r"- Subject: (?P<subject>.+)\n\n",
    "meaning": r"(?!```|\*\*)" + _PROSE.format("meaning") + r"\n",
    "example": r"(?:```(?P<info>.*)\n(?P<example>(?:(?!```).*\n)+)```\n\n)?",
    "message": r"(?:```message\n(?P<message>(?:(?!```).*\n)+)```\n\n)?",
    "remedy": r"\*\*What to do\.\*\* " + _PROSE.format("remedy") + r"\Z",
}
"""Parts of a page in order."""

_ESCAPE = re.compile(r"\\(?:x([0-9a-f]{2})|\n)")


def parse(name: str, page: str, subjects: Collection[str] | None = SUBJECTS) -> Code:
    """Parse the page of a code. Raises ValueError that names the missing or malformed part.

    `subjects`: those that it may have; None: any.
    """
    found: dict[str, str] = {}
    position = 0
    for part, pattern in _PARTS.items():
        match = re.compile(pattern).match(page, position)
        if match is None:
            raise ValueError(f"the page of `{name}` has no {part}, or not in its place: {page[position:][:60]!r}")
        found |= match.groupdict(default="")
        position = match.end()
    if found["name"] != name or (subjects is not None and found["subject"] not in subjects):
        raise ValueError(f"the page of `{name}` has the title `{found['name']}` and the subject `{found['subject']}`")
    meaning, remedy = (found[part].replace("\n", " ") for part in ("meaning", "remedy"))
    example = found["example"]
    if "bytes" in found["info"].split():
        example = _ESCAPE.sub(lambda byte: bytes.fromhex(byte[1] or "").decode("utf-8", "surrogateescape"), example)
    return Code(name, Severity(found["severity"]), found["subject"], meaning, example, remedy, found["message"])


class Pages(Mapping[str, Code]):
    """Mapping of page names to pages in folders; a page is read when it is accessed.

    `others` lists further folders, in which a page is looked for if the first one has none.
    """

    def __init__(self, folder: Path, others: Callable[[], Iterable[str]] = tuple) -> None:
        self._folder = folder
        self._others = others
        self._read: dict[str, Code] = {}

    @cached_property
    def _own(self) -> dict[str, Path]:
        """Pages of the first folder by name."""
        return {path.stem: path for path in self._folder.glob("*.md")}

    @cached_property
    def _all(self) -> dict[str, Path]:
        """Pages of all folders by name, in order."""
        further = {path.stem: path for folder in self._others() for path in Path(folder).glob("*.md")}
        return dict(sorted({**further, **self._own}.items()))

    def find_file(self, name: str) -> Path | None:
        """Return the file of a page; None for an unknown name."""
        return self._own.get(name) or self._all.get(name)

    def __getitem__(self, name: str) -> Code:
        if name not in self._read:
            path = self.find_file(name)
            if path is None:
                raise KeyError(name)
            subjects = SUBJECTS if path.parent == self._folder else None
            self._read[name] = parse(name, path.read_text(encoding="utf-8"), subjects)
        return self._read[name]

    def __contains__(self, name: object) -> bool:
        return name in self._own or name in self._all

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)


CODES = Pages(Path(__file__).with_name("codes"), partial(list_folders, "codes"))
"""All codes by name, those of plugins among them."""

KINDS = Pages(Path(__file__).with_name("differences"), partial(list_folders, "differences"))
"""All kinds of difference and of change by name; `missing-group` is also a code."""


def sections() -> Iterator[tuple[str, list[Code]]]:
    """Yield each subject with its codes, in the order of `SUBJECTS`, and behind these the subjects of plugins."""
    pages = [*CODES.values(), *KINDS.values()]
    for subject in dict.fromkeys((*SUBJECTS, *sorted(code.subject for code in pages))):
        yield subject, [code for code in pages if code.subject == subject]
