"""`nczarr convert SRC… DST`: convert any format to any other."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING

from nczarr.cli import misuse, write_product
from nczarr.cli.options import inputs_of, options_of, positive, subset_of
from nczarr.cli.parser import Command
from nczarr.cli.progress import CommandResult, print_plan, progress, summary
from nczarr.cli.shared import Messages
from nczarr.diagnostics.report import Report
from nczarr.diagnostics.secrets import StorageOptions, show
from nczarr.options import ARGUMENTS, TARGET, WHOLE, Options, RunOptions
from nczarr.pipeline.select.selection import Subset
from nczarr.stores import local_paths
from nczarr.stores.url import is_remote

if TYPE_CHECKING:
    from nczarr.pipeline.phases import ReadyConversion
    from nczarr.plan.plans import Conversion


STORE, FILE = ".zarr", ".nc"
"""Suffixes of targets of files and texts, and of stores."""


def destinations(
    sources: list[str], target: str, to: str | None, options: Options, report: Report
) -> dict[str, str] | None:
    """Return the target of each source; None after an error."""
    if len(sources) == 1:
        return {sources[0]: target}
    if not is_remote(target) and os.path.lexists(target) and not os.path.isdir(target):
        report.error("target-exists", f"`{target}` is not a folder", helps=["several sources need a folder as target"])
        return None
    suffix = _suffix_of(to, report) if to else FILE if options.target.kind else None  # kinds are those of files
    if report.errors:
        return None
    targets: dict[str, str] = {}
    homes: dict[str, str] = {}
    for source in sources:
        path = _inside(target, _stem(source) + (suffix or _suffix_for(source, options.run.storage)))
        if path in homes:
            report.error(
                "clashing-targets",
                f"`{show(homes[path])}` and `{show(source)}` would both be written to `{show(path)}`",
                helps=["convert one of them separately, to another name"],
            )
        homes.setdefault(path, source)
        targets[source] = path
    return targets if not report.errors else None


def _inside(folder: str, name: str) -> str:
    """Return the path or URL of a name in a folder; URL modes remain at the end."""
    if not is_remote(folder):
        return local_paths.join(folder, name)
    url, mark, modes = folder.rpartition("#mode=")
    return f"{url.rstrip('/')}/{name}{mark}{modes}" if mark else f"{folder.rstrip('/')}/{name}"


def _suffix_of(name: str, report: Report) -> str:
    from nczarr.pipeline import endpoints

    form = endpoints.target_format("", name, report)
    if form is None:
        return ""
    return STORE if form.emit else FILE if form.target.kinds or not form.suffixes else form.suffixes[0]


def _suffix_for(source: str, storage: StorageOptions) -> str:
    """Return the default suffix of a source's target."""
    from nczarr.stores.open import is_store

    return FILE if source != "-" and is_store(source, storage.of("source")) else STORE


def _stem(source: str) -> str:
    """Return the name of a source without folder and format suffix."""
    from nczarr import registry
    from nczarr.stores.url import BadURLError, location

    if source == "-":
        return "stdin"
    try:
        place = location(source)
        path = place.repository.place if place.repository else place.path
    except BadURLError:  # told when it is read
        path = source
    name = local_paths.name_of(path) or "root"
    suffixes = [suffix for form in registry.formats() for suffix in form.suffixes]
    longest = max((suffix for suffix in suffixes if name.lower().endswith(suffix)), key=len, default="")
    stem = name[: len(name) - len(longest)] or name
    return stem[: -len(STORE)] if longest == ".zip" and stem.lower().endswith(STORE) and stem != STORE else stem


def codec_of(level: int | None, *, shuffle: bool) -> str | None:
    """Return the codec specification of `-d` and `-s`, or None. Raises ValueError for `-s` alone."""
    if not level:
        if shuffle:
            raise ValueError("-s: shuffling alone does not compress; give a level with `-d`, or `--codec shuffle`")
        return None if level is None else "none"
    return f"shuffle+zlib:{level}" if shuffle else f"noshuffle+zlib:{level}"


def chunk_lengths(spec: str) -> list[tuple[str, tuple[int, ...]]]:
    """Return chunk lengths by name: `time/10,lat/`, `/g/v:1,12`. Raises ValueError for other texts."""
    text = f"-c {spec}"
    variable, colon, lengths = spec.rpartition(":")
    if colon:
        pair = (
            variable if variable.startswith("/") else f"/{variable}",
            tuple(positive(length, text) for length in lengths.split(",")),
        )
        if not variable:
            raise ValueError(f"{text}: write DIMENSION/LENGTH,… or VARIABLE:LENGTH,…")
        return [pair]
    lengths_by_name: list[tuple[str, tuple[int, ...]]] = []
    for item in spec.split(","):
        name, slash, length = item.rpartition("/")
        if not (name and slash):
            raise ValueError(f"{text}: write DIMENSION/LENGTH,… or VARIABLE:LENGTH,…")
        lengths_by_name.append((name, (positive(length, text) if length else WHOLE,)))
    return lengths_by_name


EXAMPLES = (
    ("convert netCDF to a compressed Zarr v3 store", "convert ocean.nc ocean.zarr --to zarr3 --codec zstd:5"),
    (
        "extract one variable in January 2020, with its coordinates",
        "convert ocean.nc part.nc --var temp --sel time=2020-01",
    ),
)


def parser() -> Command:
    """Return the parser of `convert`."""
    subparser = Command(
        "convert",
        "[OPTION]… SRC… DST",
        "Convert datasets from any format to any other. With one source, DST is the target. With several, DST is a "
        "folder that receives one target for each source.",
        EXAMPLES,
    )
    subparser.option(ARGUMENTS, "sources", metavar="SRC", nargs="+", help="file, store or URL; - is standard input")
    subparser.option(ARGUMENTS, "target", metavar="DST", help="target; - is standard output")
    subparser.option(TARGET, "--to", metavar="FORMAT", help="format of the target (default: by its suffix)")
    return subparser.complete()


def run(arguments: argparse.Namespace) -> int:
    """Convert each source; return the worst status."""
    try:
        options = options_of(arguments, special=True)  # a text target loses nothing of the storage
        chunks = dict(pair for spec in arguments.chunkspecs for pair in chunk_lengths(spec))
        codec = codec_of(arguments.level, shuffle=arguments.shuffle)
    except ValueError as error:
        return misuse("convert", str(error))
    codecs = options.layout.codecs if codec is None else {"": codec, **options.layout.codecs}
    options = options.change(chunks={**chunks, **options.layout.chunks}, codecs=codecs)
    messages = Messages(arguments)
    work = _Conversions(arguments, options, messages)
    with _share_verification(options.run):
        status = messages.guard(work.prepare, *(partial(work.convert, path) for path in arguments.sources))
    work.sum_up()
    return status


def _share_verification(run: RunOptions) -> AbstractContextManager[None]:
    """Return the block in which all targets of a run with `--verify` are read by one process."""
    from nczarr.names.plugin_index import list_own, load_part

    place = list_own("verification").get("share") if run.verify else None
    return nullcontext() if place is None else load_part(place)()


MANY_CHUNKS = 256
"""Least number of copied chunks for which a better layout is proposed."""


class _Conversions:
    """Conversions of one command line."""

    def __init__(self, arguments: argparse.Namespace, options: Options, messages: Messages) -> None:
        self.arguments = arguments
        self.options = options
        self.messages = messages
        self.subset: Subset | None = None
        self.targets: dict[str, str] = {}
        self.done: list[Conversion] = []
        self.number = len(arguments.sources)
        self.folder = arguments.target if self.number > 1 else None

    def convert(self, path: str) -> None:
        """Convert one source if the preparation succeeded; its name is added to messages without a place."""
        try:
            self._convert(path)
        finally:
            if self.number > 1:
                self.messages.report.annotate(f"of `{show(path)}`")

    def prepare(self) -> None:
        """Check everything that does not depend on the sources' content."""
        report = self.messages.report
        subset = subset_of(self.arguments, report)
        asked = self.arguments
        if asked.dask is not None and "-" in (*asked.sources, asked.target):
            from nczarr.link.target import indivisible

            indivisible("standard input and output belong to one process", report)
        targets = destinations(asked.sources, asked.target, asked.to, self.options, report)
        if subset is not None and targets is not None and not report.errors:
            self.subset, self.targets = subset, targets

    def _convert(self, path: str) -> None:
        from nczarr.pipeline.phases import prepare

        report, target = self.messages.report, self.targets.get(path)
        if target is None or self.subset is None or not (target != "-" or self._is_printable()):
            return
        (source,) = inputs_of([path], self.options, self.arguments.form)
        ready = prepare(source, self.subset, "" if target == "-" else target, self.arguments.to, report, self.options)
        if ready is None:
            return
        if target == "-":
            write_product(ready.blocks(report) or (), ready.form.display.string_escapes)
        elif self.arguments.dry_run:
            self._rehearse(ready)
        else:
            self._write(ready)

    def _is_printable(self) -> bool:
        """Return whether the target can be written to standard output. Reports unknown-target."""
        from nczarr.pipeline import endpoints

        report = self.messages.report
        form = endpoints.target_format("", self.arguments.to, report)
        if form is None:
            return False
        if not form.display.binary or (form.write is not None and not sys.stdout.isatty()):
            return True
        helps = ["name a file"] if form.write is None else ["name a file, or send standard output to another program"]
        report.error("unknown-target", f"format `{form.name}` is not a text format", helps=helps)
        return False

    def _write(self, ready: ReadyConversion) -> None:
        before, made_folder = len(self.done), self._make_folder()
        try:
            with progress(self.arguments, ready.target, ready.checked) as watch:
                conversion = ready.write(self.messages.report, watch)
            if conversion is not None:
                self.done.append(conversion)
                self._propose_layout(ready, conversion)
        finally:
            if made_folder and len(self.done) == before:
                with suppress(OSError):  # something else put a file there
                    os.rmdir(made_folder)

    def _propose_layout(self, ready: ReadyConversion, conversion: Conversion) -> None:
        """Say what `--layout cloud` would do better, if the command states no chunks."""
        layout = self.options.layout
        if layout.chunks or layout.shards or layout.arrangement or conversion.copied_chunks < MANY_CHUNKS:
            return
        from nczarr import registry
        from nczarr.pipeline.endpoints import has_layouts
        from nczarr.plan.chunk_sizes import propose_layout

        form = registry.find_format(conversion.format)
        if form is None or not has_layouts(form):
            return
        counts = propose_layout(ready.checked)
        if counts is not None:
            before, after = counts
            self.messages.remark(
                f"`--layout cloud` would write {after:,} chunk{'s' * (after != 1)} instead of {before:,}"
            )

    def _rehearse(self, ready: ReadyConversion) -> None:
        """Print the plan. The folder of several targets need not exist."""
        if self.folder is not None and not is_remote(self.folder) and not os.path.lexists(self.folder):
            ready = ready._replace(target=local_paths.name_of(ready.target))
        steps = ready.steps(self.messages.report)
        print_plan(self.arguments, None if self.messages.report.errors else steps, ready.target)

    def _make_folder(self) -> str | None:
        """Make the folder of several targets as late as possible; return its path if it was new."""
        if self.folder is None or is_remote(self.folder) or os.path.isdir(self.folder):
            return None
        os.mkdir(self.folder)
        return str(self.folder)

    def sum_up(self) -> None:
        """Print a summary line."""
        if not self.done:
            return
        where = f"`{show(self.done[0].target)}`"
        if self.folder is not None:
            where = f"{len(self.done)} of {self.number} in `{show(self.folder)}`"
        target = self.done[0].target if self.folder is None else self.folder
        result = CommandResult("convert", target, self.number, tuple(self.done))
        self.messages.result(f"{where}: {summary(self.done, self.arguments.to)}", result)
