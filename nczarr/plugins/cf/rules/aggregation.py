"""2.8 Aggregation variables."""

from __future__ import annotations

import re
from collections.abc import Iterator

from nczarr.arrays.lazy_numpy import np
from nczarr.plugins.cf.coordinates import has_values, read_numbers, read_texts
from nczarr.plugins.cf.references import parse_pairs
from nczarr.plugins.cf.rule import Breach, find_missing, find_missing_dimensions, find_no_text
from nczarr.plugins.cf.view import INTEGERS, TEXTS, CFDataset, CFVariable

FEATURES = ({"map", "uris", "identifiers"}, {"map", "unique_values"})
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:\S+|[^\s:]+(?::\S*)?")


def check_aggregation(dataset: CFDataset) -> Iterator[Breach]:
    """Find aggregations whose fragments are missing or do not agree."""
    for variable in dataset.variables.values():
        if not {"aggregated_dimensions", "aggregated_data"} & variable.attributes.keys():
            continue
        node = variable.attributes.get("aggregated_data", variable.node)
        yield from find_no_text(variable, "aggregated_dimensions", "dimensions")
        words = variable.text("aggregated_dimensions").split()
        yield from find_missing_dimensions(dataset, variable, "aggregated_dimensions", words, "dimensions")
        if variable.dimensions:
            yield Breach("scalar", f"the aggregation variable `{variable.path}` has dimensions", variable.node)
        if dataset.is_container(variable):
            yield Breach("kind", f"`{variable.path}` is a container and an aggregation variable", node)
        pairs = dict(parse_pairs(variable.text("aggregated_data")) or ())
        if set(pairs) not in FEATURES:
            yield Breach("data", f"`aggregated_data` of `{variable.path}` has the features {', '.join(pairs)}", node)
        else:
            yield from find_missing(dataset, variable, "aggregated_data", pairs.values())
            axes = [dataset.resolve_dimension(word, variable.group) for word in words]
            parts = {name: dataset.resolve(path, variable.group) for name, path in pairs.items()}
            if None not in axes and all(parts.values()):
                present = {name: part for name, part in parts.items() if part is not None}
                yield from _check_aggregated_parts(dataset, variable, [dataset.length(axis) for axis in axes], present)


def _check_aggregated_parts(
    dataset: CFDataset, variable: CFVariable, lengths: list[int], parts: dict[str, CFVariable]
) -> Iterator[Breach]:
    """Find parts that disagree; `lengths`: of aggregated dimensions, `parts`: by feature, such as `map` or `uris`."""
    node, table = variable.attributes["aggregated_data"], parts["map"]
    wrong = [part for name, part in parts.items() if (name == "map" and part.type not in INTEGERS)
             or (name == "uris" and part.type not in TEXTS)]  # fmt: skip
    if wrong:
        yield Breach("types", f"`{wrong[0].path}` has the type `{wrong[0].type}`", node, wrong[0].name)
        return
    main = parts.get("uris") or parts["unique_values"]
    if len(main.axes) != len(lengths) or (lengths and table.shape[:1] != (len(lengths),)):
        what = f"`{main.path}` or `{table.path}` has not one dimension or row for each of {len(lengths)} dimensions"
        yield Breach("shape", what, node)
        return
    if has_values(dataset, table):
        values, missing = read_numbers(dataset, table)
        sums = np.where(missing, 0, values).reshape(max(1, len(lengths)), -1).sum(axis=1).tolist()
        if sums != (lengths or [1]):
            yield Breach("sum", f"the rows of `{table.path}` add up to {sums}, not {lengths or [1]}", node, table.name)
        counts = (~missing).reshape(max(1, len(lengths)), -1).sum(axis=1).tolist()
        if lengths and list(main.shape[: len(lengths)]) != counts:
            what = f"`{main.path}` has the shape {list(main.shape)}, and `{table.path}` has {counts} lengths"
            yield Breach("shape", what, node)
    for name in ("uris", "identifiers"):
        part = parts.get(name)
        if part is not None and part.type in TEXTS and has_values(dataset, part):
            texts = read_texts(dataset, part)
            if "" in texts:
                yield Breach("missing", f"`{part.path}` has a missing value", node, part.name)
            for text in texts if name == "uris" else ():
                if text and not _URI.fullmatch(text):
                    yield Breach("uri", f"`{text}` of `{part.path}` is not a URI", node, part.name)
