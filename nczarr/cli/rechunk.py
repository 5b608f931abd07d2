"""`nczarr rechunk SRC DST --chunks …`: write a dataset in other chunks, in bounded memory."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from nczarr.cli import misuse, write_product
from nczarr.cli.options import inputs_of, options_of, subset_of
from nczarr.cli.parser import Command
from nczarr.cli.progress import CommandResult, progress, summary
from nczarr.cli.shared import Messages
from nczarr.diagnostics.secrets import show
from nczarr.options import ARGUMENTS, TARGET, Options

if TYPE_CHECKING:
    from nczarr.link.stages import PartPasses
    from nczarr.pipeline.rechunk import RechunkPlan

EXAMPLES = (
    (
        "turn maps into series, with at most 2 GB of memory",
        "rechunk ocean.nc series.zarr --chunks time=1000,lat=2 --memory 2GB",
    ),
    ("show what this would cost", "rechunk ocean.nc b.zarr --chunks auto --access series --dry-run"),
)


def parser() -> Command:
    """Return the parser of `rechunk`."""
    subparser = Command(
        "rechunk",
        "[OPTION]… SRC DST --chunks SPEC",
        "Write a dataset in other chunks, in bounded memory. Arrays whose chunks would be decoded more than 1.5 times "
        "pass through a scratch folder, which is removed at the end. The plan is printed first.",
        EXAMPLES,
    )
    subparser.option(ARGUMENTS, "source", metavar="SRC", help="file, store or URL; - is standard input")
    subparser.option(ARGUMENTS, "target", metavar="DST", help="target in netCDF-4 or Zarr")
    subparser.option(TARGET, "--to", metavar="FORMAT", help="format of the target (default: by its suffix)")
    return subparser.complete()


def run(arguments: argparse.Namespace) -> int:
    """Rechunk a dataset; return the status."""
    try:
        options = options_of(arguments, special=True)
    except ValueError as error:
        return misuse("rechunk", str(error))
    if not (options.layout.chunks or options.layout.shards or options.layout.arrangement):
        return misuse("rechunk", "name the chunk lengths of the target with --chunks, such as time=100,lat=20")
    messages = Messages(arguments)
    return messages.guard(lambda: _rechunk(arguments, options, messages))


def _rechunk(arguments: argparse.Namespace, options: Options, messages: Messages) -> None:
    """Print the plan and do it; with `--dry-run` print it to standard output alone."""
    from nczarr.pipeline.rechunk import prepare_rechunk

    report = messages.report
    subset = subset_of(arguments, report)
    if subset is None or report.errors:
        return
    (source,) = inputs_of([arguments.source], options, arguments.form)
    ready = prepare_rechunk(source, subset, arguments.target, arguments.to, report, options)
    if ready is None:
        return
    if arguments.dry_run:
        plan = ready.plan(report)
        if plan is not None and not report.errors:
            json_asked = arguments.message_format == "json"
            lines = _json_lines(plan, arguments.target) if json_asked else _text_lines(plan)
            write_product(f"{line}\n".encode("utf-8", "surrogateescape") for line in lines)
        return

    def announce(plan: RechunkPlan) -> None:
        for line in _text_lines(plan):
            messages.remark(line)

    with progress(arguments, arguments.target, ready.conversion.checked) as watch:
        done = ready.write(report, watch, announce)
    if done is not None:
        result = CommandResult("rechunk", arguments.target, 1, (done,))
        messages.result(f"`{show(arguments.target)}`: {summary([done], arguments.to)}", result)


def _text_lines(plan: RechunkPlan) -> Iterator[str]:
    """Yield a readable plan: two lines for each array whose chunks change, and a sum."""
    from nczarr.diagnostics.render import visible

    for part in plan.changed:
        passes = part.passes
        before, after = (" × ".join(map(str, lengths)) for lengths in (part.source_chunks, part.chunks))
        count = "1 pass" if passes.scratch is None else "2 passes"
        yield f"{visible(_name(part))}: {count}, {before} to {after}"
        yield f"    {_cost(passes.read, passes.written, passes.decodings, passes.memory, passes.scratch_size)}"
        if passes.scratch is not None:
            blocks = " × ".join(map(str, passes.scratch.block))
            yield f"    scratch in blocks of {blocks}; one pass would decode {passes.one_pass:.1f} times"
    rest = len(plan.parts) - len(plan.changed)
    if rest:
        yield f"{rest} array{'s' * (rest != 1)} with the same chunks"
    yield f"in all: {_cost(plan.read, plan.written, plan.amplification, plan.memory, plan.scratch)}"


def _cost(read: int, written: int, decodings: float, memory: int, scratch: int) -> str:
    from nczarr.arrays.execution.counts import bytes_text

    words = [f"reads {bytes_text(read)}", f"writes {bytes_text(written)}", f"decodes {decodings:.1f} times"]
    words.append(f"memory {bytes_text(memory)}")
    if scratch:
        words.append(f"scratch {bytes_text(scratch)}")
    return ", ".join(words)


def _json_lines(plan: RechunkPlan, target: str) -> Iterator[str]:
    """Yield a plan as JSON lines, the last one with the sum."""
    for part in plan.parts:
        passes = part.passes
        members = {
            "target": show(target),
            "path": part.path,
            "part": part.part,
            "passes": passes.number,
            "from": list(map(int, part.source_chunks)),
            "to": list(map(int, part.chunks)),
            "read": passes.read,
            "written": passes.written,
            "amplification": round(passes.decodings, 3),
            "one_pass_amplification": round(passes.one_pass, 3),
            "memory": passes.memory,
            "scratch": passes.scratch_size,
            "block": None if passes.scratch is None else list(passes.scratch.block),
        }
        yield json.dumps(members, ensure_ascii=False)
    sums = {
        "target": show(target),
        "read": plan.read,
        "written": plan.written,
        "amplification": round(plan.amplification, 3),
        "memory": plan.memory,
        "scratch": plan.scratch,
    }
    yield json.dumps(sums, ensure_ascii=False)


def _name(part: PartPasses) -> str:
    return f"{part.path}/{part.part}" if part.part else part.path
