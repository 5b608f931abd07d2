"""Shared parts of the commands: options, diagnostics, exit status."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from nczarr.cli import DONE, FAULTY, INTERRUPTED, MISUSED, UNREACHABLE, clear_fetched
from nczarr.cli.streams import Help, flush_product, give_up
from nczarr.diagnostics.report import CompileError, Diagnostic, Report, Severity
from nczarr.secrets import shown

if TYPE_CHECKING:
    from nczarr.ast import Kind
    from nczarr.diagnostics.sarif import Log
    from nczarr.options import Following
    from nczarr.secrets import StorageOptions

STATUS = {
    "unknown-target": MISUSED,
    "target-exists": MISUSED,
    "clashing-targets": MISUSED,
    "bad-url": MISUSED,
    "indivisible-run": MISUSED,
    "bad-section": MISUSED,
    "unreachable-file": UNREACHABLE,
    "unreachable-target": UNREACHABLE,
    "missing-library": UNREACHABLE,
}
"""Exit status of codes that are not input errors; all others are FAULTY."""


def command(name: str, description: str, *, short_help: bool = True, places: bool = True) -> argparse.ArgumentParser:
    """Return the parser of one command with the shared options.

    Without `short_help`, `-h` belongs to the command. `places`: it takes paths
    and URLs.
    """
    parser = argparse.ArgumentParser(prog=f"nczarr {name}", description=description, add_help=False, allow_abbrev=False)
    shared = parser.add_argument_group("shared options")
    flags = ("-h", "--help") if short_help else ("--help",)
    shared.add_argument(*flags, action=Help, help="show this help and exit")
    shared.add_argument("--strict", action="store_true", help="take every warning for an error")
    forms = ("human", "json", "sarif")
    shared.add_argument("--message-format", choices=forms, default="human", help="form of diagnostics")
    shared.add_argument("-q", "--quiet", action="store_true", help="print errors only")
    shared.add_argument("--verbose", action="store_true", help="list every loss; show where a crash happened")
    if places:
        shared.add_argument(
            "--storage-option",
            action="append",
            type=storage_option,
            default=[],
            metavar="K=V",
            help="for URLs, as the library of their protocol takes it; retries=N",
        )
        sources = parser.add_argument_group("sources that are reference documents")
        sources.add_argument("--source-base", metavar="URL", help="what relative URLs begin with (default: its folder)")
        sources.add_argument(
            "--source-root",
            action="append",
            default=[],
            metavar="ROOT",
            help="they may name this folder, URL or protocol (s3://) and no other; repeatable",
        )
        sources.add_argument("--source-target", metavar="URL", help="what references without a URL lead to")
        sources.add_argument("--source-jinja", action="store_true", help="jinja2 renders texts beyond our grammar")
    return parser


def following_of(arguments: argparse.Namespace) -> Following:
    """Return how references of sources are followed."""
    from nczarr.options import Following

    return Following(
        arguments.source_base,
        tuple(arguments.source_root),
        arguments.source_target,
        jinja=arguments.source_jinja,
    )


def storage_option(text: str) -> tuple[str, Any]:
    """Return an option of remote places. Raises ArgumentTypeError without its value, which may be a secret."""
    from nczarr.secrets import option

    try:
        return option(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def storage_of(arguments: argparse.Namespace) -> StorageOptions:
    """Return all storage options."""
    from nczarr.secrets import StorageOptions

    return StorageOptions(dict(arguments.storage_option))


def kind(text: str) -> Kind:
    """Return a kind of netCDF file in any spelling of ncgen's `-k`. Raises ArgumentTypeError for others."""
    from nczarr.ast.kinds import KIND_SPELLINGS  # loads the tree, which other commands do without

    found = KIND_SPELLINGS.get(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a kind of netCDF file; use nc3, nc6, nc5, nc4, nc7 or 1 … 5")
    return found


def size(text: str) -> int:
    """Return a number of bytes: `4096`, `64MiB`, `2TB`. Raises ArgumentTypeError for other texts."""
    found = re.fullmatch(r"([0-9]+)(?:([KMGTPE])(i?)B?|B)?", text, re.ASCII | re.IGNORECASE)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size; write a number of bytes, 64MiB, 2TB …")
    number, prefix, binary = found.groups()
    power = " KMGTPE".index(prefix.upper()) if prefix else 0
    unit = 1024 if binary else 1000
    return int(number) * int(unit**power)


def integer(least: int, most: int, what: str) -> Callable[[str], int]:
    """Return a parser of integers in a range. It raises ArgumentTypeError for other texts, which are no `what`."""

    def parse(text: str) -> int:
        if not (text.isascii() and text.isdigit() and least <= int(text) <= most):
            raise argparse.ArgumentTypeError(f"{text!r} is not a {what}")
        return int(text)

    return parse


workers = integer(1, 1024, "number of threads, 1 to 1024")
"""Parser of `--workers`."""


def loss(text: str) -> str:
    """Return a code for `--allow-loss`, or `all`. Raises ArgumentTypeError for others."""
    from nczarr.diagnostics.value_losses import ALLOWED, not_allowed

    if text not in ALLOWED:
        raise argparse.ArgumentTypeError(not_allowed(text))
    return text


class Messages:
    """Collector and printer of one command's diagnostics on stderr; determines the exit status.

    Readable messages and JSON lines are printed after each task, SARIF in one
    document at the end.
    """

    def __init__(self, options: argparse.Namespace) -> None:
        self.report = Report(strict=options.strict)
        self._format = options.message_format
        self._quiet = options.quiet
        self._verbose = options.verbose
        self._log: Log | None = None
        if self._format == "sarif":
            from nczarr.diagnostics.sarif import Log

            self._log = Log()

    def guard(self, *works: Callable[[], None]) -> int:
        """Run tasks, each with its own report, and return the worst exit status.

        Unreachable files and crashes become diagnostics. A closed output pipe
        ends the command.
        """
        status = DONE
        try:
            for number, work in enumerate(works):
                if number:
                    self.report = Report(strict=self.report.strict)
                self._attempt(work)
                status = max(status, self._print())
                clear_fetched()
        except BrokenPipeError:
            self._print()
            self._close(DONE)
            raise
        except KeyboardInterrupt as interrupt:
            if self._format == "human":
                self._write(f"nczarr: interrupted; {note}\n" for note in getattr(interrupt, "__notes__", ()))
            self._close(INTERRUPTED)
            raise
        self._close(status)
        return status

    def remark(self, text: str) -> None:
        """Print a line for people, unless only errors or machine-readable diagnostics are asked for."""
        if not self._quiet and self._format == "human":
            self._write([f"{text}\n"])

    def _attempt(self, work: Callable[[], None]) -> None:
        try:
            work()
            lost = flush_product()
            if lost is not None:
                self.report.error("unreachable-file", lost)
        except BrokenPipeError:
            raise
        except OSError as error:
            self.report.error("unreachable-file", _reason(error), helps=getattr(error, "__notes__", ()))
        except CompileError as error:  # chunks are found to be damaged when their values are asked for
            for found in error.diagnostics:
                self.report.add(found)
        except ImportError as error:
            from nczarr.cli.missing import missing

            found_missing = missing(error)
            if found_missing is None:
                self._crashed(error)
            else:
                self.report.add(found_missing)
        except Exception as error:
            self._crashed(error)

    def _print(self) -> int:
        """Print the diagnostics of one task and return its exit status."""
        found = self.report.sorted()
        if self._quiet:
            found = [diagnostic for diagnostic in found if diagnostic.severity is Severity.ERROR]
        if self._log is not None:
            self._log.add(found, self.report.dropped)
        elif found:
            self._write(self._lines(found))
        return max((STATUS.get(each.code, FAULTY) for each in found if each.severity is Severity.ERROR), default=DONE)

    def _lines(self, found: list[Diagnostic]) -> Iterator[str]:
        from nczarr.diagnostics import render

        if self._format == "json":
            yield from render.json_lines(found)
            return
        yield from render.human(found, colour=render.wants_colour(sys.stderr))
        yield f"{render.summary(found, self.report.dropped)}\n"

    def _close(self, status: int) -> None:
        if self._log is not None:
            self._write([self._log.text(status)])

    def _write(self, lines: Iterable[str]) -> None:
        try:
            sys.stderr.writelines(lines)
            sys.stderr.flush()
        except OSError:
            give_up(sys.stderr)  # the reader of diagnostics has gone; the status still reports errors

    def _crashed(self, error: Exception) -> None:
        place = _innermost(error)
        notes = ["this is a fault of nczarr; please report it with the input"]
        if self._verbose:
            import traceback

            notes.extend(line for text in traceback.format_exception(error) for line in text.rstrip("\n").split("\n"))
        text = f"{place} failed: {type(error).__name__}: {error}".replace("\n", " ")
        self.report.add(Diagnostic("internal-error", Severity.ERROR, text, notes=tuple(notes)))


_UNFINISHED = re.compile(r"\.(?:partial|replaced)-[0-9a-f]{8}(?=/|$)")


def _reason(error: OSError) -> str:
    """Return the system's message with the file's user-visible name."""
    what = f"`{_known_as(error.filename)}`: " if isinstance(error.filename, str) else ""
    return f"{what}{error.strerror or error}"


def _known_as(path: str) -> str:
    """Return the user-visible name of a path: the target of an unfinished one, the URL of a fetched one."""
    spool = sys.modules.get("nczarr.stores.spool")
    fetched: str = path if spool is None else spool.name_of(path)
    return shown(_UNFINISHED.sub("", fetched))


def _innermost(error: BaseException) -> str:
    """Return the innermost package module of a traceback, preferably a check, format or link module."""
    frames = []
    place = error.__traceback__
    while place is not None:
        frames.append(place.tb_frame)
        place = place.tb_next
    ours = [name for frame in frames if (name := frame.f_globals.get("__name__", "")).startswith("nczarr.")]
    phases = [name for name in ours if name.startswith(("nczarr.check.", "nczarr.formats.", "nczarr.link."))]
    return f"`{(phases or ours or ['nczarr'])[-1].removeprefix('nczarr.')}`"
