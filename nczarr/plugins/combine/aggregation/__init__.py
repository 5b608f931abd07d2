"""Aggregation variables of CF 2.8: scalars that stand for an array in pieces, which are variables of other datasets.

    attributes ─ instructions ─> fragments (places, names, lengths) ─ expand ─> Checked with arrays of fragments

Fragments are opened when their values are read (`fragments.py`), and converted to the
form of the aggregation variable (`fragments.py`). The variables that describe
them are metadata and left out, as cfdm does.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from nczarr import names
from nczarr.arrays.regions import linear_block
from nczarr.arrays.sources.memory import Repeated, all_fill, fill_source
from nczarr.arrays.sources.source import ArraySource, Parts, itemsize
from nczarr.ast import Group, Storage, Variable
from nczarr.ast.dataset import building, map_groups
from nczarr.diagnostics.report import Report, Source
from nczarr.options import Options
from nczarr.pipeline.phases import for_reading, read_path
from nczarr.plugins.cf.view import CFDataset
from nczarr.plugins.combine.aggregation.fragments import DatasetReader, FragmentArray, FragmentReader, canonical_form_of
from nczarr.plugins.combine.aggregation.instructions import ATTRIBUTES, Fragments, is_aggregation, read_instructions
from nczarr.plugins.combine.arrays.concatenate import join_sources
from nczarr.semantics.checked import Checked, resize, with_storage
from nczarr.stores.base import Store
from nczarr.stores.reference_policy import ForbiddenTargetError, Policy, home_of

DEEPEST = 4
"""Aggregation files that lead to a fragment; more are probably a circle."""

LEAST = 1 << 16
"""Bytes of a fragment from which its lengths are those of chunks."""

DECODED = 16 << 20
"""Bytes of a fragment that are read at once where its chunks are unknown."""


def expand(checked: Checked, source: Source | Store, report: Report, options: Options) -> Checked | None:
    """Return a dataset of a source with the arrays of its aggregation variables; None after a reported error.

    Reports as `expand_aggregations`.
    """
    depth = options.reading.aggregated + 1
    of_fragments = for_reading(options).change(aggregated=depth, aggregation="expand" if depth < DEEPEST else "keep")
    return expand_aggregations(checked, home_of(source), read_path, of_fragments, report)


def expand_aggregations(
    checked: Checked, home: str, read: DatasetReader, options: Options, report: Report
) -> Checked | None:
    """Return the dataset with the arrays that its aggregation variables stand for; None after a reported error.

    Expects: a checked dataset, `home`, the folder or URL of its file, and the reader of fragments. Ensures: a checked
    dataset without the variables and dimensions that describe fragments; no fragment is
    opened. Reports bad-aggregation, forbidden-target. Raises OSError.
    """
    before = report.errors
    dataset = CFDataset(checked)
    instructions: dict[str, Fragments] = {}
    for variable in dataset.variables.values():
        if is_aggregation(variable.node):
            fragments = read_instructions(dataset, variable, report)
            if fragments is not None:
                instructions[variable.path] = fragments
    if report.errors > before:
        return None
    policy = Policy(home, options.reading.following)
    places = _find_places(instructions, policy, report)
    if report.errors > before:
        return None
    with building():
        expanded = _declare(checked, instructions)
        reader = FragmentReader(read, options.change(storage=policy.limit_token(options.run.storage)))
        sources = {
            path: _join_fragments(path, expanded, fragments, places, reader) for path, fragments in instructions.items()
        }
        parts: dict[str, Parts] = {path: {"": source} for path, source in sources.items()}
        return with_storage(
            expanded._replace(parts={**expanded.parts, **parts}),
            {path: _find_storage(source, instructions[path].lengths) for path, source in sources.items()},
        )


def _find_places(instructions: Mapping[str, Fragments], policy: Policy, report: Report) -> dict[str, str]:
    """Return the path or URL of each fragment dataset by its URI; reports forbidden-target."""
    places: dict[str, str] = {}
    for path, fragments in instructions.items():
        for uri in dict.fromkeys(fragments.uris or ()):
            if uri is None or uri in places:
                continue
            try:
                followed = policy.follow(uri)
            except ForbiddenTargetError as error:
                report.error("forbidden-target", f"fragment of `{path}`: {error}")
            else:
                places[uri] = followed.path or followed.url
    return places


def _declare(checked: Checked, instructions: Mapping[str, Fragments]) -> Checked:
    """Return the dataset with the dimensions of aggregated data, without what describes the fragments."""
    described = {path for fragments in instructions.values() for path in fragments.features} - instructions.keys()
    free = {reference for path in described for reference in checked.variables[path].dimensions}
    for path, variable in checked.variables.items():
        if path not in described:
            free -= set(instructions[path].dimensions if path in instructions else variable.dimensions)

    def change(path: str, group: Group) -> dict[str, Any]:
        """Return the variables and dimensions of the data."""
        variables = ((names.join(path, variable.name), variable) for variable in group.variables)
        return {
            "variables": tuple(
                _expand(variable, instructions.get(fqn)) for fqn, variable in variables if fqn not in described
            ),
            "dimensions": tuple(node for node in group.dimensions if names.join(path, node.name) not in free),
        }

    return resize(checked, map_groups(checked.dataset, change))


def _expand(variable: Variable, fragments: Fragments | None) -> Variable:
    """Return an aggregation variable with the dimensions of its data."""
    if fragments is None:
        return variable
    attributes = tuple(attribute for attribute in variable.attributes if attribute.name not in ATTRIBUTES)
    changes = {"dimensions": fragments.dimensions, "attributes": attributes, "storage": Storage()}
    return variable.model_copy(update=changes)


def _find_storage(source: ArraySource, lengths: Sequence[Sequence[int]]) -> Storage:
    """Return the lengths of fragments as those of chunks, for readers and targets that do not know the real ones."""
    chunks = source.layout.chunks
    is_regular = all(set(row[:-1]) <= {row[0]} and row[-1] <= row[0] for row in lengths if row)
    size = math.prod(chunks) * itemsize(source.layout.dtype)
    return Storage(layout="chunked", chunks=chunks) if chunks and is_regular and size >= LEAST else Storage()


def _join_fragments(
    path: str, checked: Checked, fragments: Fragments, places: Mapping[str, str], reader: FragmentReader
) -> ArraySource:
    """Return the array of all fragments of a variable."""
    form = canonical_form_of(checked, path)
    whole = all_fill(checked.fills[path], form.type, checked.shapes[path], checked.types)[""].layout
    room = max(1, DECODED // (itemsize(whole.dtype) or 1))
    sources: list[ArraySource] = []
    for number, shape in enumerate(itertools.product(*fragments.lengths)):
        layout = whole._replace(shape=shape, chunks=linear_block(shape, room))
        if fragments.uris is None:
            value = fragments.values[number]
            sources.append(fill_source(layout) if value is None else Repeated(layout, (value,)))
            continue
        uri, identifier = fragments.uris[number], fragments.identifiers[number]
        if uri is None or identifier is None:
            sources.append(fill_source(layout))
        else:
            sources.append(FragmentArray(layout, reader, places[uri], identifier, form))
    for axis, row in reversed(tuple(enumerate(fragments.lengths))):
        starts = range(0, len(sources), max(1, len(row)))
        sources = [join_sources(sources[start : start + len(row)], axis) for start in starts]
    return sources[0] if sources else fill_source(whole)
