"""`nczarr digest SRC…`: print a hash of model and values; `--check` verifies recorded ones."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from nczarr.cli import misuse, write_product
from nczarr.cli.options import options_of, read_input, standard_input, subset_of
from nczarr.cli.parser import Command
from nczarr.cli.shared import Messages
from nczarr.diagnostics.report import Report
from nczarr.diagnostics.secrets import show
from nczarr.names import list_first
from nczarr.options import ARGUMENTS, TEXT

if TYPE_CHECKING:
    from nczarr.pipeline.compare.digest import Digest

EXAMPLES = (
    ("show that two datasets are equal", "digest ocean.nc ocean.zarr"),
    ("verify recorded digests", "digest --check digests.txt"),
)


def parser() -> Command:
    """Return the parser of `digest`."""
    subparser = Command(
        "digest",
        "[OPTION]… (SRC… | --check FILE)",
        "Print one hash of each dataset's model and values. It does not depend on format, chunks, codecs or byte "
        "order. Any change of a name, type, attribute, dimension or value changes it.",
        EXAMPLES,
    )
    subparser.option(ARGUMENTS, "sources", metavar="SRC", nargs="*", help="file, store or URL; - is standard input")
    subparser.option(
        ARGUMENTS,
        "--check",
        dest="files",
        action="append",
        default=[],
        metavar="FILE",
        help="read lines of digests from FILE and verify each; - is standard input; repeatable",
    )
    subparser.option(TEXT, "--parts", action="store_true", help="print digests of variables and groups as well")
    return subparser.complete()


def run(arguments: argparse.Namespace) -> int:
    """Print or check; return the worst status, 1 if a digest differs."""
    if bool(arguments.sources) == bool(arguments.files):
        return misuse("digest", "name sources, or files of digests with --check")
    messages = Messages(arguments)
    work = _Digests(arguments, messages)
    if arguments.files:
        return messages.guard(*work.checks())
    return messages.guard(*(partial(work.print, path) for path in arguments.sources))


class _Digests:
    """Digests of one command line."""

    def __init__(self, arguments: argparse.Namespace, messages: Messages) -> None:
        self.arguments = arguments
        self.messages = messages
        self.json = arguments.message_format == "json"
        self.absent: list[str] = []

    def digest(self, path: str) -> Digest | None:
        """Return the digests of a source; None after an error. Raises OSError, CompileError."""
        from nczarr.pipeline.compare.digest import choose_part, digest
        from nczarr.pipeline.omissions import DAMAGE, refuse

        arguments, report = self.arguments, self.messages.report
        options = options_of(arguments, survey=True)
        checked = read_input(path, report, options, arguments.form)
        subset = subset_of(arguments, report)
        if checked is None or subset is None or report.errors:
            return None
        part = choose_part(checked, subset, report)
        if part is not None:
            refuse(part, options.run, report, DAMAGE)
        return None if part is None or report.errors else digest(part, options.run)

    def print(self, path: str) -> None:
        """Print the digests of a source."""
        digests = self._digest_named(path)
        if digests is None:
            return
        parts = digests.parts if self.arguments.parts else {}
        write_product(self._line(path, digest, part) for part, digest in [(None, digests.whole), *parts.items()])

    def _digest_named(self, path: str) -> Digest | None:
        """Return the digests of a source; its name is added to diagnostics."""
        try:
            return self.digest(path)
        finally:
            if len(self.arguments.sources) > 1 or self.arguments.files:
                self.messages.report.annotate(f"of `{show(path)}`")

    def _line(self, path: str, digest: str, part: str | None) -> bytes:
        from nczarr.pipeline.compare.digest import line

        if self.json:
            return _json({"digest": digest, "file": path, "path": part})
        return line(digest, path, part)

    def checks(self) -> list[Callable[[], None]]:
        """One callable per digest file, and per dataset in it."""
        from nczarr.pipeline.compare.digest import parse
        from nczarr.stores.open import open_source

        works: list[Callable[[], None]] = []
        for name in self.arguments.files:
            report = Report(strict=self.arguments.strict)
            try:
                expected_digests = parse(standard_input() if name == "-" else open_source(name), report)
            except OSError as error:
                works.append(partial(_fail, error))
                continue
            works.append(partial(self._repeat, report))
            works += [partial(self._check, name, *item) for item in expected_digests.items()]
        return [*works, self._report_absent]

    def _report_absent(self) -> None:
        """Report all datasets that do not exist at once."""
        if self.absent:
            self.messages.report.error("unreachable-file", f"{list_first(self.absent, 3)}: No such file or directory")

    def _repeat(self, report: Report) -> None:
        """Report stored diagnostics again."""
        for diagnostic in report.list_sorted():
            self.messages.report.add(diagnostic)

    def _check(self, name: str, dataset: str, expected: Digest) -> None:
        """Report whether a dataset and its listed parts have the recorded digests."""
        digests = None
        try:
            digests = self._digest_named(dataset)
        except FileNotFoundError as error:
            if error.filename != dataset:  # a file that the dataset names
                raise
            self.absent.append(show(dataset))
        finally:
            if digests is None:
                write_product([self._format_verdict(dataset, None, expected.whole, None)])
        if digests is None:
            return
        lines = [self._format_verdict(dataset, None, expected.whole, digests.whole)]
        lines += [
            self._format_verdict(dataset, part, expected_digest, digests.parts.get(part))
            for part, expected_digest in expected.parts.items()
        ]
        write_product(lines)
        faulty = [
            part for part, expected_digest in expected.parts.items() if digests.parts.get(part) != expected_digest
        ]
        if digests.whole != expected.whole or faulty:
            where = f": {', '.join(f'`{part}`' for part in faulty[:9])}" if faulty else ""
            self.messages.report.error("unequal-digest", f"`{dataset}` differs from `{name}`{where}")

    def _format_verdict(self, name: str, part: str | None, expected: str, digest: str | None) -> bytes:
        """Return the line of a verified digest, as sha256sum prints it (`NAME: OK`), or its JSON."""
        if self.json:
            return _json({"digest": digest, "wanted": expected, "ok": digest == expected, "file": name, "path": part})
        if digest == expected and self.arguments.quiet:
            return b""
        from nczarr.pipeline.compare.digest import line

        head, tail = line("", name, part).split(b"  ", 1)
        unread = digest is None and part is None  # a dataset that was read may lack a part
        word = b"OK" if digest == expected else b"FAILED open or read" if unread else b"FAILED"
        return head + tail[:-1] + b": " + word + b"\n"


def _fail(error: OSError) -> None:
    raise error


def _json(record: dict[str, object]) -> bytes:
    return json.dumps(record, ensure_ascii=True).encode() + b"\n"
