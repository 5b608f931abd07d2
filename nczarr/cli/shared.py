"""What the commands have in common: shared options, opening sources, printing diagnostics, exit status."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from typing import IO, TYPE_CHECKING

from nczarr.diagnostics import Diagnostic, Report, Severity

if TYPE_CHECKING:
    from nczarr.ast import Kind

STATUS = {"unknown-target": 2, "target-exists": 2, "unreachable-file": 3, "missing-library": 3}
"""Exit status of the codes whose errors lie not in the input (DESIGN §4); all others have 1."""


def command(name: str, description: str, *, short_help: bool = True) -> argparse.ArgumentParser:
    """The parser of one command with the shared options; without `short_help`, `-h` is the command's own."""
    parser = argparse.ArgumentParser(prog=f"nczarr {name}", description=description, add_help=False, allow_abbrev=False)
    shared = parser.add_argument_group("shared options")
    flags = ("-h", "--help") if short_help else ("--help",)
    shared.add_argument(*flags, action="help", help="show this help and exit")
    shared.add_argument("--strict", action="store_true", help="take every warning for an error")
    shared.add_argument("--message-format", choices=("human", "json"), default="human", help="form of diagnostics")
    shared.add_argument("-q", "--quiet", action="store_true", help="print errors only")
    shared.add_argument("--verbose", action="store_true", help="list every loss; show where a crash happened")
    return parser


def kind(text: str) -> Kind:
    """A kind of netCDF file in any spelling of ncgen's `-k`. Raises ArgumentTypeError for others."""
    from nczarr.kinds import KIND_SPELLINGS  # loads the tree, which other commands do without

    found = KIND_SPELLINGS.get(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no kind of netCDF file; use nc3, nc6, nc5, nc4, nc7 or 1 … 5")
    return found


def size(text: str) -> int:
    """A number of bytes: `4096`, `64MiB`, `2TB`. Raises ArgumentTypeError for anything else."""
    import re

    found = re.fullmatch(r"([0-9]+)(?:([KMGTPE])(i?)B?|B)?", text, re.ASCII | re.IGNORECASE)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no size; write a number of bytes, 64MiB, 2TB …")
    number, prefix, binary = found.groups()
    power = " KMGTPE".index(prefix.upper()) if prefix else 0
    unit = 1024 if binary else 1000
    return int(number) * int(unit**power)


class Messages:
    """The diagnostics of one command: collects them, prints them on stderr, and knows the exit status."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.report = Report(strict=options.strict)
        self._json = options.message_format == "json"
        self._quiet = options.quiet
        self._verbose = options.verbose

    def finish(self, stream: IO[str] | None = None) -> int:
        """Print everything that was found and return the exit status: the worst of the errors."""
        out = stream or sys.stderr
        found = self.report.sorted()
        if self._quiet:
            found = [diagnostic for diagnostic in found if diagnostic.severity is Severity.ERROR]
        if not found:
            return 0
        from nczarr import render

        try:
            if self._json:
                out.writelines(render.json_lines(found))
            else:
                out.writelines(render.human(found, colour=render.wants_colour(out)))
                out.write(f"{render.summary(found, self.report.dropped)}\n")
            out.flush()
        except BrokenPipeError:
            # Whoever read the diagnostics has seen enough; the status still says that there are errors.
            os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())
        return max((STATUS.get(each.code, 1) for each in found if each.severity is Severity.ERROR), default=0)

    def guard(self, work: Callable[[], None]) -> int:
        """Do the work of a command; files out of reach and crashes become diagnostics. Returns the exit status."""
        try:
            work()
        except BrokenPipeError:
            raise
        except OSError as error:
            self.report.error("unreachable-file", _reason(error))
        except Exception as error:
            self._crashed(error)
        return self.finish()

    def _crashed(self, error: Exception) -> None:
        place = _innermost(error)
        notes = ["this is a fault of nczarr; please report it with the input"]
        if self._verbose:
            import traceback

            notes.extend(line for text in traceback.format_exception(error) for line in text.rstrip("\n").split("\n"))
        text = f"{place} failed: {type(error).__name__}: {error}".replace("\n", " ")
        self.report.add(Diagnostic("internal-error", Severity.ERROR, text, notes=tuple(notes)))


def _reason(error: OSError) -> str:
    what = f"`{error.filename}`: " if isinstance(error.filename, str) else ""
    return f"{what}{error.strerror or error}"


def _innermost(error: BaseException) -> str:
    """The phase that crashed, as a module of ours: the pass, front end or back end nearest to the fault."""
    frames = []
    place = error.__traceback__
    while place is not None:
        frames.append(place.tb_frame)
        place = place.tb_next
    ours = [name for frame in frames if (name := frame.f_globals.get("__name__", "")).startswith("nczarr.")]
    phases = [name for name in ours if name.startswith(("nczarr.passes.", "nczarr.formats.", "nczarr.link."))]
    return f"`{(phases or ours or ['nczarr'])[-1].removeprefix('nczarr.')}`"
