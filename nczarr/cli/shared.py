"""Diagnostics of the commands, and their exit status."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from errno import EACCES, EDQUOT, ENOSPC, EPERM
from typing import TYPE_CHECKING, Any, Protocol

from nczarr.cli import (
    CHANGED,
    DONE,
    FAULTY,
    INTERRUPTED,
    MISUSED,
    UNREACHABLE,
    clear_fetched,
    flush_product,
    give_up,
    name_committed,
    settle,
)
from nczarr.diagnostics.report import OMITTED, UNREAD, CompileError, Diagnostic, Report, Severity
from nczarr.diagnostics.secrets import show
from nczarr.names import readable
from nczarr.names.plugin_index import PluginError, list_packages
from nczarr.stores.commitment import CommittedError, OldTargetStaysError, forget_commits

if TYPE_CHECKING:
    from nczarr.diagnostics.sarif import Log


EXTRAS = {
    "cf_units": "cf",
    "h5py": "netcdf",
    "jinja2": "references",
    "netCDF4": "netcdf",
    "pyarrow": "references",
    "shtab": "completion",
}
"""Package extra that installs a module; those of plugins are in their rows."""

DISTRIBUTIONS = {"antlr4": "antlr4-python3-runtime", "google": "protobuf", "yaml": "pyyaml", "zlib_ng": "zlib-ng"}
"""Package names that differ from their module."""


def missing(error: ImportError) -> Diagnostic | None:
    """Return the diagnostic for a missing library; None if the import failed for another reason."""
    remedy = getattr(error, "remedy", "")
    if remedy:  # the plugin of a protocol knows which package it wants
        return _diagnostic(str(error), remedy)
    module = (error.name or "").partition(".")[0]
    if not isinstance(error, ModuleNotFoundError) or not module:
        return None
    if module == "nczarr" or module in sys.stdlib_module_names:
        return None
    from nczarr.names.plugin_index import load_all

    library = DISTRIBUTIONS.get(module, module)
    extra = EXTRAS.get(module) or next((each.extras[module] for each in load_all() if module in each.extras), None)
    requirement = library if extra is None else f"'nczarr[{extra}]'"
    return _diagnostic(f"this needs `{library}`, which is not installed", f"run `pip install {requirement}`")


def _diagnostic(text: str, remedy: str) -> Diagnostic:
    return Diagnostic("missing-library", Severity.ERROR, text, helps=(remedy,))


class Recordable(Protocol):
    """Result of a command."""

    def record(self) -> dict[str, Any]:
        """Return the members of the JSON object."""


FAILURES = {ENOSPC: "full-disk", EDQUOT: "full-disk", EACCES: "missing-permission", EPERM: "missing-permission"}
"""Codes of failures by the number of the system's error; all others are `unreachable-file`."""

STATUS = {
    **dict.fromkeys(("unknown-target", "target-exists", "nested-target", "busy-target", "clashing-targets"), MISUSED),
    **dict.fromkeys(("bad-url", "indivisible-run", "unextendable-target", "unchangeable-store"), MISUSED),
    **dict.fromkeys(("uneditable-target", "unmatched-undo", "bad-edit", "bad-section"), MISUSED),
    **dict.fromkeys(("unreachable-file", *FAILURES.values()), UNREACHABLE),
    **dict.fromkeys(("unreachable-target", "missing-library", "out-of-memory"), UNREACHABLE),
    "incomplete-change": CHANGED,
}
"""Exit status of codes that are not input errors; all others are FAULTY."""

LASTING = UNREAD | {OMITTED}
"""Codes of losses in reading, which `-q` does not hide when they are accepted."""


class Messages:
    """Collector and printer of one command's diagnostics on stderr; determines the exit status.

    Readable messages and JSON lines are printed after each task, SARIF in one
    document at the end.
    """

    watcher: Callable[[str], None] | None = None
    """Function that prints a line about a long wait, on a terminal or with `--verbose`."""

    def __init__(self, options: argparse.Namespace) -> None:
        Messages.watcher = self.remark if options.verbose or sys.stderr.isatty() else None
        self._levels = {
            code: None if level == "ignore" else Severity(level) for code, level in getattr(options, "levels", ())
        }
        self._begin(strict=options.strict)
        self._format = options.message_format
        self._quiet = options.quiet
        self._verbose = options.verbose
        self._log: Log | None = None
        if self._format == "sarif":
            from nczarr.diagnostics.sarif import Log

            self._log = Log()

    def _begin(self, *, strict: bool) -> None:
        self.report = Report(strict=strict)
        self.report.levels = self._levels
        self.report.announce = self._announce
        self._announced: set[tuple[object, ...]] = set()

    def guard(self, *works: Callable[[], None]) -> int:
        """Run tasks, each with its own report, and return the worst exit status.

        Unreachable files and crashes become diagnostics. A closed output pipe
        ends the command.
        """
        status = DONE
        try:
            for number, work in enumerate(works):
                if number:
                    self._begin(strict=self.report.strict)
                forget_commits()
                self._attempt(work)
                status = max(status, self._print())
                clear_fetched()
        except BrokenPipeError:
            self._print()
            self._close(DONE)
            raise
        except KeyboardInterrupt as interrupt:
            status = max(status, self._print(), settle(INTERRUPTED) if work is works[-1] else INTERRUPTED)
            done = f"`{name_committed()}` is complete" if status == DONE else None
            notes = getattr(interrupt, "__notes__", ()) if done is None else (done,)
            if self._format == "human":
                self._write(f"nczarr: interrupted; {note}\n" for note in notes)
            self._close(status)
            if status == INTERRUPTED:
                forget_commits()
                raise
            return status
        self._close(status)
        return status

    def remark(self, text: str) -> None:
        """Print a line for people, unless only errors or machine-readable diagnostics are asked for."""
        if not self._quiet and self._format == "human":
            self._write([readable(text, "\n") + "\n"])

    def result(self, text: str, result: Recordable) -> None:
        """Print the result of the command: a line for people, or the last JSON object."""
        self.remark(text)
        if self._format == "json" and not self._quiet:
            import json

            self._write([json.dumps(result.record(), ensure_ascii=True) + "\n"])

    def _attempt(self, work: Callable[[], None]) -> None:
        try:
            work()
            lost = flush_product()
            if lost is not None:
                self._report_failure(lost, f"standard output: {lost.strerror or lost}")
        except BrokenPipeError:
            raise
        except OSError as error:
            self._report_failure(error, _reason(error))
        except CompileError as error:  # chunks are found to be damaged when their values are asked for
            for diagnostic in error.diagnostics:
                self.report.add(diagnostic)
        except ImportError as error:
            found_missing = missing(error)
            if found_missing is None:
                self._report_crash(error)
            else:
                self.report.add(found_missing)
        except MemoryError as error:
            detail = f": {error}" if str(error) else ""
            helps = ["read a part (`--section`, `--var`), give less `--memory`, or run it where more memory is free"]
            self.report.error("out-of-memory", f"the run needs more memory than is free{detail}", helps=helps)
        except Exception as error:
            self._report_crash(error)

    def _report_failure(self, error: OSError, reason: str) -> None:
        """Report what the system refused, before or after the commit of a target."""
        helps = getattr(error, "__notes__", ())
        target = name_committed()
        if target is None:
            self.report.error(FAILURES.get(error.errno or 0, "unreachable-file"), reason, helps=helps)
            return
        is_partial = isinstance(error, CommittedError) and not isinstance(error, OldTargetStaysError)
        place = "not all of it is in its place: " if is_partial else ""
        self.report.error("incomplete-change", f"`{target}` has its new content, but {place}{reason}", helps=helps)

    def _announce(self) -> None:
        """Print the diagnostics of a task before its long work; SARIF is one document at the end."""
        if self._log is None:
            self._write(self._lines(self._take_unprinted()))

    def _visible(self) -> list[Diagnostic]:
        """Return the diagnostics of the task that are asked for."""
        stored = self.report.list_sorted()
        if not self._quiet:
            return stored
        return [one for one in stored if one.severity is Severity.ERROR or one.code in LASTING]

    def _take_unprinted(self) -> list[Diagnostic]:
        """Return the visible diagnostics that were not printed yet, and count them as printed."""
        new = [diagnostic for diagnostic in self._visible() if diagnostic.sort_key() not in self._announced]
        self._announced.update(diagnostic.sort_key() for diagnostic in new)
        return new

    def _print(self) -> int:
        """Print the diagnostics of one task and return its exit status."""
        diagnostics = self._visible()
        if self._log is not None:
            self._log.add(diagnostics, self.report.dropped, self.report.subject)
        elif diagnostics:
            self._write([*self._lines(self._take_unprinted()), *self._summary(diagnostics)])
        errors = (diagnostic.code for diagnostic in diagnostics if diagnostic.severity is Severity.ERROR)
        return settle(max((STATUS.get(code, FAULTY) for code in errors), default=DONE))

    def _lines(self, diagnostics: list[Diagnostic]) -> Iterator[str]:
        try:
            from nczarr.diagnostics import render
        except MemoryError:  # what used it up may still be held
            yield from (f"{one.severity.value}[{one.code}]: {readable(one.message)}\n" for one in diagnostics)
            return
        if self._format == "json":
            yield from render.json_lines(diagnostics, self.report.subject)
            return
        if self._format == "gcc":
            yield from render.gcc_lines(diagnostics)
            return
        yield from render.human(diagnostics, colour=render.wants_colour(sys.stderr))

    def _summary(self, diagnostics: list[Diagnostic]) -> Iterator[str]:
        """Yield the count of errors and warnings, if any were rendered."""
        render = sys.modules.get("nczarr.diagnostics.render")
        if render is None:
            return
        counts = render.summary(diagnostics, self.report.dropped)
        if counts and self._format == "human":
            yield f"{counts}\n"

    def _close(self, status: int) -> None:
        if self._log is not None:
            self._write([self._log.text(status)])

    def _write(self, lines: Iterable[str]) -> None:
        try:
            sys.stderr.writelines(lines)
            sys.stderr.flush()
        except OSError:
            give_up(sys.stderr)  # the reader of diagnostics has gone; the status still reports errors

    def _report_crash(self, error: Exception) -> None:
        place, owner = _innermost(error)
        notes = [f"this is a fault of {owner}; please report it with the input"]
        if self._verbose:
            import traceback

            notes.extend(line for text in traceback.format_exception(error) for line in text.rstrip("\n").split("\n"))
        text = f"{place} failed: {type(error).__name__}: {error}".replace("\n", " ")
        self.report.add(Diagnostic("internal-error", Severity.ERROR, text, notes=tuple(notes)))


_UNFINISHED = r"\.(?:partial|replaced)-[0-9a-f]{8}(?=/|$)"


def _reason(error: OSError) -> str:
    """Return the system's message with the file's user-visible name."""
    what = f"`{_find_shown_path(error.filename)}`: " if isinstance(error.filename, str) else ""
    return f"{what}{error.strerror or error}"


def _find_shown_path(path: str) -> str:
    """Return the user-visible name of a path: the target of an unfinished one, the URL of a fetched one."""
    spool = sys.modules.get("nczarr.stores.spool")
    fetched: str = path if spool is None else spool.name_of(path)
    return show(re.sub(_UNFINISHED, "", fetched))


def _innermost(error: BaseException) -> tuple[str, str]:
    """Return the innermost module of a traceback, preferably a check, format or link module, and whose fault it is."""
    frames = []
    place = error.__traceback__
    while place is not None:
        frames.append(place.tb_frame)
        place = place.tb_next
    names, packages = [str(frame.f_globals.get("__name__", "")) for frame in frames], list_packages()
    plugin = next((name for name in reversed(names) if name.partition(".")[0] in packages), None)
    if plugin is not None and not isinstance(error, PluginError):
        return f"`{plugin}`", f"the plugin that has the package `{plugin.partition('.')[0]}`"
    ours = [name for name in names if name.startswith("nczarr.")]
    phases = [name for name in ours if name.startswith(("nczarr.semantics.", "nczarr.formats.", "nczarr.link."))]
    owner = "a plugin" if isinstance(error, PluginError) else "nczarr"
    return f"`{(phases or ours or ['nczarr'])[-1].removeprefix('nczarr.')}`", owner
