"""`nczarr compile SCHEMA`: compile a text to a store or file."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from nczarr.ast.node import Node
from nczarr.ast.values import Constant
from nczarr.cli import complain, misuse, write_product
from nczarr.cli.options import open_text, options_of, read_input
from nczarr.cli.parser import Command
from nczarr.cli.progress import print_plan
from nczarr.cli.shared import Messages
from nczarr.diagnostics.report import Report, hint
from nczarr.diagnostics.secrets import show
from nczarr.names.plugin_index import find_place, list_offered, list_own, load_part
from nczarr.options import ARGUMENTS, TARGET, Options
from nczarr.registry import STORE, for_target, label_format

if TYPE_CHECKING:
    from nczarr.ast import Dataset
    from nczarr.pipeline.emission import CompileProduct, Emission, SchemaReader
    from nczarr.pipeline.phases import Reader
    from nczarr.semantics.checked import Checked


def text(node: Node) -> str:
    """Return the text of a node and its descendants, with a final newline."""
    return "".join(line + "\n" for line in lines(node))


def lines(node: Node, indent: str = "") -> Iterator[str]:
    """Yield the text by lines: plain members on the node's line, child nodes below."""
    from dataclasses import fields  # its import takes a twentieth of a small run

    head, below = [type(node).__name__], []
    for member in fields(node):
        name, value = member.name, getattr(node, member.name)
        if name == "span" or (name != "name" and value == member.default):
            continue
        if isinstance(value, Constant):
            head.append(json.dumps(value.model_dump(mode="json"), ensure_ascii=False))
        elif isinstance(value, Node):
            below.append(value)
        elif isinstance(value, tuple) and value and isinstance(value[0], Node):
            below.extend(value)
        elif name == "name":
            head.append(_plain(value))
        elif name != "kind" or type(node).__name__ == "Dataset":  # of a type, the class tells the kind
            head.append(f"{name}={_plain(value)}")
    yield indent + " ".join(head)
    for child in below:
        yield from lines(child, indent + "  ")


def _plain(value: Any) -> str:
    """Return a member's value; ambiguous text is quoted."""
    if isinstance(value, tuple):
        return f"({', '.join(map(_plain, value))})"
    if isinstance(value, str) and not (value.isprintable() and value.strip("\"'(),= ") == value and value):
        return json.dumps(value, ensure_ascii=False)
    return str(value)


EXAMPLES = (
    ("make a netCDF-4 file from a schema", "compile ocean.cdl -o ocean.nc --kind nc4"),
    ("show the Zarr v3 documents that a schema would become", "compile ocean.cdl --to zarr3"),
)


def parser() -> Command:
    """Return the parser of `compile`."""
    subparser = Command(
        "compile",
        "[OPTION]… SCHEMA… [-o DST]",
        "Compile a schema with its data to a store or file. Without -o, print the documents of the store.",
        EXAMPLES,
    )
    subparser.option(
        ARGUMENTS,
        "sources",
        metavar="SCHEMA",
        nargs="+",
        help="CDL, NCZarr notation or AST JSON; - is standard input; of several, each adds to those before and "
        "overrides them",
    )
    subparser.option(TARGET, "-o", "--output", metavar="DST", help="target; - is standard output, for text formats")
    subparser.option(
        TARGET, "--to", metavar="FORMAT", help="format of the target (default: by its suffix, else nczarr)"
    )
    subparser.option(
        TARGET,
        "--emit",
        metavar="PHASE",
        help=f"print a phase of the compilation as JSON Lines instead: {', '.join(list_offered('emission'))}",
    )
    additions = [each.options for each in _list_products()] + [each.options for each in _list_readers()]
    for row in chain.from_iterable(additions):
        subparser.add(row)
    subparser.option(TARGET, "--dump-after", metavar="PASS", help=argparse.SUPPRESS)
    return subparser.complete()


def _list_products() -> list[CompileProduct]:
    return [load_part(place) for place in list_own("product").values()]


def _list_readers() -> list[SchemaReader]:
    """Return what plugins make of several schemas."""
    return [load_part(place) for place in list_own("schema_reader").values()]


def run(arguments: argparse.Namespace) -> int:
    """Compile one schema, or several as one."""
    try:
        options = options_of(arguments, special=True)
    except ValueError as error:
        return misuse("compile", str(error))
    if arguments.emit is not None and find_place("emission", arguments.emit) is None:
        known = list_offered("emission")
        return misuse("compile", f"`{arguments.emit}` is not a phase that `--emit` prints{hint(arguments.emit, known)}")
    if len(arguments.sources) > 1 and not _list_readers():
        return misuse("compile", "no plugin of this installation compiles several schemas as one")
    *layers, last = arguments.sources
    if layers and arguments.output is None and (form := for_target(last)) and not form.display.dumped:
        return misuse("compile", f"several schemas are layers of one; did you mean `-o {show(last)}`?")
    if arguments.dry_run and arguments.output in (None, "-"):
        return misuse("compile", "--dry-run needs a target: -o DST")
    for product in _list_products():
        if getattr(arguments, product.options[0].name):
            if arguments.output in (None, "-"):
                return misuse("compile", f"{product.options[0].flags} needs a folder: -o DIR")
            return _make_product(product, arguments, options)
    messages = Messages(arguments)
    work = _compile if arguments.emit is None else _emit
    return messages.guard(lambda: work(arguments, options, messages))


def _compile(arguments: argparse.Namespace, options: Options, messages: Messages) -> None:
    """Write the target, or print it, its plan (`--dry-run`) or the tree after a pass (`--dump-after`)."""
    from nczarr.pipeline.phases import Input, prepare
    from nczarr.pipeline.select.selection import Subset

    report = messages.report
    out = arguments.output
    printed = out in (None, "-")
    looker = _Looker(arguments.dump_after) if arguments.dump_after else None
    source = Input(arguments.sources[0], _make_reader(arguments, options, looker))
    form = arguments.to or (STORE if printed else None)
    ready = prepare(source, Subset(), "" if printed else out, form, report, options)
    if looker is not None:
        looker.check()
    elif ready is None:
        return
    elif not printed and arguments.dry_run:
        steps = ready.steps(report)
        print_plan(arguments, None if report.errors else steps, ready.target)
    elif not printed:
        done = ready.write(report)
        if done is not None and arguments.to is None and done.format == STORE:
            messages.remark(f"`{show(ready.target)}`: {label_format(STORE, ready.target, None)}")
    elif out is None and ready.form.display.binary:
        text = f"format `{ready.form.name}` is not a text format"
        report.error("unknown-target", text, helps=["name a file with `-o`"])
    else:
        write_product(ready.blocks(report) or (), ready.form.display.string_escapes)


def _make_reader(arguments: argparse.Namespace, options: Options, observe: _Looker | None = None) -> Reader:
    """Return the reader of the schema, or of all layers with the definitions."""
    paths = arguments.sources
    for reader in _list_readers():
        definitions = getattr(arguments, reader.options[0].name)
        if definitions or len(paths) > 1:
            return partial(_read_as_one, reader, paths, definitions, options)
    return partial(read_input, paths[0], options=options, observe=observe)


def _read_as_one(
    reader: SchemaReader, paths: list[str], definitions: list[str], options: Options, report: Report
) -> Checked | None:
    """Return the dataset of all layers; for `Reader`, whose one argument is the report."""
    return reader.read(paths, definitions, report, options)


def _make_product(product: CompileProduct, arguments: argparse.Namespace, options: Options) -> int:
    """Make the files of a plugin; return the status."""
    messages = Messages(arguments)
    values = {row.name: getattr(arguments, row.name) for row in product.options}
    emission = _open_emission(arguments, options, messages, "", arguments.to or STORE)
    return messages.guard(lambda: product.make(emission, values, arguments.output, overwrite=arguments.overwrite))


def _open_emission(
    arguments: argparse.Namespace, options: Options, messages: Messages, out: str, form: str | None
) -> Emission:
    """Return the request of an emission: how to open the schema, and how to prepare the target."""
    from nczarr.pipeline.emission import Emission
    from nczarr.pipeline.phases import Input, prepare
    from nczarr.pipeline.select.selection import Subset

    source = Input(arguments.sources[0], _make_reader(arguments, options))
    return Emission(
        partial(open_text, arguments.sources[0], messages.report, options),
        partial(prepare, source, Subset(), out, form, messages.report, options),
        messages.report,
        options,
    )


def _emit(arguments: argparse.Namespace, options: Options, messages: Messages) -> None:
    """Print the records of a phase, one on each line."""
    out = arguments.output or ""
    form = arguments.to or (None if out else STORE)
    emission = _open_emission(arguments, options, messages, out, form)
    records = load_part(find_place("emission", arguments.emit) or "")(emission)
    write_product(
        (json.dumps(record, ensure_ascii=False) + "\n").encode("utf-8", "surrogatepass") for record in records
    )


class _Looker:
    """Observer that prints the tree after one pass."""

    def __init__(self, wanted_pass: str) -> None:
        self.wanted = wanted_pass
        self.seen: list[str] = []

    def __call__(self, name: str, dataset: Dataset) -> None:
        """Print the tree if the pass is the requested one."""
        self.seen.append(name)
        if name == self.wanted:
            write_product([text(dataset).encode("utf-8", "surrogateescape")])

    def check(self) -> None:
        """Report an unknown pass."""
        if self.wanted not in self.seen:
            complain(f"nczarr compile: no pass `{self.wanted}` was run; passes: {', '.join(self.seen)}")
