"""The dataset of a pyramid: level 0, and a group for each further level with its coordinates and grid mappings."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from nczarr import names
from nczarr.arrays.lazy_numpy import np
from nczarr.arrays.sources.source import Parts, fill_of, little_descr
from nczarr.ast import Attribute, Constant, Dataset, Group, Storage, Variable
from nczarr.ast.dataset import map_groups
from nczarr.ast.rectilinear import varies
from nczarr.ast.renaming import NODE_KINDS, rename_tree
from nczarr.ast.types import ATOMIC
from nczarr.diagnostics.report import Report
from nczarr.pipeline.select.physical import Physical, is_numeric, physical
from nczarr.pipeline.select.sections import list_mentioned, with_related
from nczarr.plugins.pyramid.conventions import (
    Json,
    LevelFacts,
    describe_grids,
    describe_pyramid,
    list_conventions,
    make_attribute,
    measure,
    scale_attributes,
    scale_geotransform,
    scale_grid,
    without_metadata,
)
from nczarr.plugins.pyramid.level_array import LevelArray, Overviews, measure_smallest_tile
from nczarr.plugins.pyramid.reduce import Method, Reduction
from nczarr.plugins.pyramid.spec import CODE, RECORD, PyramidPlan
from nczarr.semantics import check
from nczarr.semantics.checked import Checked, rename_arrays, whole_parts

PACKING = frozenset(
    ("scale_factor", "add_offset", "_FillValue", "missing_value", "valid_min", "valid_max", "valid_range", "_Unsigned")
)
"""Attributes about stored values, which unpacked ones lack."""

NAN = Attribute(name="_FillValue", value=Constant.numbers("double", [float("nan")]))


class LevelVariable(NamedTuple):
    """A variable of the levels above level 0."""

    reduction: Reduction
    is_double: bool = False
    """True if the values are double, where those of level 0 are packed or integers."""


class PyramidBuilder:
    """Builder of the pyramid of one dataset."""

    def __init__(
        self, checked: Checked, plan: PyramidPlan, memory: int, *, nested: bool, scratch: str | None = None
    ) -> None:
        """Prepare it. `nested`: level 0 becomes the group `0`; else it stays, and the levels are groups beside it."""
        self.checked = checked
        self.plan = plan
        self.memory = memory
        self.scratch = scratch
        self.base = "/0" if nested else ""
        self.facts = LevelFacts(checked, plan, self.base)
        self.cells = dict(self._list_cells())
        related = with_related(plan.methods, checked)
        self.dropped = frozenset(path for path in related if path in self.cells and self._is_vertex(path))
        self.kept = [path for path in checked.variables if path in related and path not in self.dropped]
        self.variables = {path: one for path in self.kept if (one := self._find_variable(path)) is not None}

    def build(self, report: Report) -> Checked | None:
        """Return the pyramid as a dataset; None after an error. Raises OSError, CompileError.

        Reports unsuited-pyramid, unsuited-axes.
        """
        levels = range(1, self.plan.levels + 1)
        for path, one in self.variables.items():
            need = measure_smallest_tile(whole_parts(self.checked, path)[""], one.reduction.factors, self.plan.levels)
            if need > self.memory:
                text = f"a cell of level {self.plan.levels} of `{path}` needs {need} bytes of memory, of {self.memory}"
                report.error(CODE, text, helps=["ask for fewer `--levels`, or for more `--memory`"])
                return None
        taken = {group.name for group in self.checked.dataset.groups} & set(map(str, levels))
        if not self.base and taken:
            text = f"the dataset has a group `{min(taken)}`, which is the name of a level"
            report.error(CODE, text, helps=["write the pyramid into a new target"])
            return None
        grids = describe_grids(self.facts, report)
        groups = tuple(self._make_level(level, grids) for level in levels)
        members = describe_pyramid(self.facts, grids, report)
        record = Attribute(name=RECORD, value=Constant.text(self.plan.record().encode()))
        root, below = self.checked.dataset, self._place(self.base)
        kind = root.kind and "nc4"  # classic files have no groups
        zero = map_groups(below, lambda path, group: self._with_grids(path, group, grids, 0)) if self.base else below
        if self.base:
            content = {name: getattr(zero, name) for name in ("types", "dimensions", "variables", "attributes")}
            groups = (Group(name="0", groups=zero.groups, **content), *groups)
            tree = Dataset(name=root.name, version=root.version, kind=kind, groups=groups)
        else:
            tree = zero.model_copy(update={"groups": (*zero.groups, *groups), "kind": kind})
        attributes = (*_join_attributes(without_metadata(tree.attributes), members), record)
        tree = tree.model_copy(update={"attributes": attributes})
        work = rename_arrays(self.checked, tree, {path: self.base + path for path in self.checked.variables})
        work.parts.update(self._list_parts())
        work.omitted = list(self.checked.omitted)
        return check(work, report)

    # ---- variables --------------------------------------------------------------------------------------------------
    def _list_cells(self) -> Iterator[tuple[str, str]]:
        """Yield the variables that hold bounds of cells, each with the variable whose bounds they are."""
        for path in self.checked.variables:
            for other in list_mentioned(self.checked, path, {"bounds", "climatology"}):
                yield other, path

    def _is_vertex(self, path: str) -> bool:
        """Return whether a variable has the corners of cells, which those of larger cells are not among."""
        reduced = [one for one in self.checked.variables[path].dimensions if one in self.plan.reduced]
        return len(reduced) > 1 or (len(reduced) == 1 and self.checked.shapes[path][-1] != 2)

    def _find_variable(self, path: str) -> LevelVariable | None:
        """Return how a variable is reduced; None: levels have it as it is."""
        variable, source = self.checked.variables[path], whole_parts(self.checked, path).get("")
        reduced = [one for one in variable.dimensions if one in self.plan.reduced]
        if not reduced or source is None:
            return None
        factors = tuple(self.plan.spec.factor if one in self.plan.reduced else 1 for one in variable.dimensions)
        dtype: Any = little_descr(source.layout.dtype)
        numbers = is_numeric(self.checked, path)
        if path in self.cells:
            return LevelVariable(Reduction("bounds", factors, dtype))
        usual: Method = "mean" if numbers else "nearest"
        method: Method = self.plan.methods.get(path, usual)
        if method == "nearest" or not numbers:
            return LevelVariable(Reduction("nearest", factors, dtype))
        facts = physical(self.checked, path)
        own = {one.name for one in variable.attributes}
        has_mark = bool(own & {"_FillValue", "missing_value"}) or dtype[1] != "f"
        element = variable.storage.element or ""
        missing = facts.missing
        if element.startswith(("datetime64", "timedelta64")):
            missing = (*missing, np.int64(np.iinfo("i8").min))  # NaT
            has_mark = True
        first = missing[0] if missing else _find_invalid(facts, dtype)
        # Without a mark in an attribute, cells without values are NaN; unwritten ones keep the fill value.
        mark, unwritten = (first, None) if has_mark else (None, first)
        if method in ("min", "max") and (facts.scale or 1.0) < 0:
            method = "max" if method == "min" else "min"  # of the stored numbers
        rounding = "<f2" if element == "float16" else None
        valid = facts.lowest, facts.highest
        reduction = Reduction(method, factors, dtype, missing, mark, unwritten, facts.sign, valid, rounding)
        is_packed = facts.scale is not None or facts.offset is not None
        is_position = variable.dimensions == (path,)
        if method == "mean" and (
            (is_position and dtype[1] in "iu" and not element)
            or (self.plan.spec.unpack and (is_packed or dtype[1] in "iu"))
        ):
            scale = (1.0 if facts.scale is None else facts.scale, 0.0 if facts.offset is None else facts.offset)
            reduction = reduction._replace(dtype="<f8", mark=None, unwritten=None, rounding=None)
            return LevelVariable(reduction._replace(scale=scale if is_packed else None), is_double=True)
        return LevelVariable(reduction)

    def _list_parts(self) -> Iterator[tuple[str, Parts]]:
        """Yield the arrays of the levels by FQN."""
        levels = range(1, self.plan.levels + 1)
        for path in self.kept:
            one = self.variables.get(path)
            if path not in self.checked.parts:
                continue  # nothing was written
            if one is None:
                yield from ((f"/{level}{path}", self.checked.parts[path]) for level in levels)
                continue
            source = whole_parts(self.checked, path)[""]
            shapes = tuple(self.facts.shape(path, level) for level in range(self.plan.levels + 1))
            overviews = Overviews(source, one.reduction, shapes, self.memory, self.scratch)
            fill = struct.pack("<d", float("nan")) if one.is_double else fill_of(source)
            for level in levels:
                yield f"/{level}{path}", {"": LevelArray(overviews, level, fill)}

    # ---- the tree ---------------------------------------------------------------------------------------------------
    def _place(self, prefix: str, types: str | None = None) -> Dataset:
        """Return the tree with references to dimensions below a group. `types`: the group with the types."""
        if not prefix:
            return self.checked.dataset
        tables = (self.checked.groups, self.checked.types, self.checked.dimensions, self.checked.variables)
        places = dict.fromkeys(NODE_KINDS, prefix) | {"type": prefix if types is None else types}
        renamed = {
            kind: {path: places[kind] + path for path in table if path != "/"}
            for kind, table in zip(NODE_KINDS, tables, strict=True)
        }
        return rename_tree(self.checked.dataset, renamed)

    def _make_level(self, level: int, grids: Mapping[str, Json]) -> Group:
        """Return the group of a level."""
        tree = self._place(f"/{level}", self.base)
        used = {one for path in self.kept for one in self.checked.variables[path].dimensions}
        outer = {
            names.fqn(names.split(path)[:depth])
            for path in (*self.kept, *map(str, used))
            for depth in range(len(names.split(path)))
        }

        def prune(path: str, group: Group) -> dict[str, Any]:
            members = self._with_grids(path, group, grids, level)
            dimensions = tuple(
                one.model_copy(
                    update={
                        "size": self.plan.length(fqn, one.size, level),
                        "unlimited": one.unlimited and fqn not in self.plan.reduced,
                    }
                )
                for one in group.dimensions
                if (fqn := names.join(path, one.name)) in used
            )
            attributes = tuple(one for one in group.attributes if one.value.type in ATOMIC)
            return {**members, "types": (), "dimensions": dimensions, "attributes": attributes}

        group = map_groups(tree, prune)
        content = {name: getattr(group, name) for name in ("dimensions", "variables", "attributes")}
        return Group(name=str(level), groups=_select_groups(group, "/", outer), **content)

    def _with_grids(self, path: str, group: Group, grids: Mapping[str, Json], level: int) -> dict[str, Any]:
        """Return the variables of a group at a level, with their metadata."""
        variables = []
        for variable in group.variables:
            fqn = names.join(path, variable.name)
            if level and fqn not in self.kept:
                continue
            variables.append(self._make_variable(fqn, variable, grids.get(fqn, {}), level))
        return {"variables": tuple(variables)}

    def _make_variable(self, path: str, variable: Variable, grid: Json, level: int) -> Variable:
        """Return a variable at a level."""
        attributes = list(variable.attributes)
        members: dict[str, Any] = {}
        if level:
            one = self.variables.get(path)
            members["storage"] = storage = self._fit_chunks(path, variable.storage, level)
            if one is not None and one.is_double:
                attributes = [*(each for each in attributes if each.name not in PACKING), NAN]
                members = {"type": "double", "storage": storage.model_copy(update={"element": None})}
            gone = [other for other in self.dropped if self.cells.get(other) == path]
            attributes = [each for each in attributes if not (gone and each.name in ("bounds", "climatology"))]
            attributes = scale_attributes(attributes, measure(self.facts, path, level))
            step = self.plan.spec.factor**level
            attributes = scale_geotransform(attributes, step, step)
        if grid:
            scaled = scale_grid(grid, measure(self.facts, path, level))
            attributes = list(_join_attributes(attributes, {**scaled, "zarr_conventions": list_conventions(scaled)}))
        return variable.model_copy(update={**members, "attributes": tuple(attributes)})

    def _fit_chunks(self, path: str, storage: Storage, level: int) -> Storage:
        """Return the storage of a variable with chunks that are not longer than a level; None of them for a list."""
        chunks = storage.chunks
        if chunks is None or path not in self.variables:
            return storage
        if varies(chunks):
            return storage.model_copy(update={"chunks": None})
        lengths = zip(chunks, self.facts.shape(path, level), self.facts.factors(path, level), strict=True)
        fitting = tuple(min(chunk, length) if factor > 1 else chunk for chunk, length, factor in lengths)
        return storage.model_copy(update={"chunks": fitting})


def _find_invalid(facts: Physical, dtype: str) -> Any:
    """Return a stored integer beyond the valid ones, for cells without values; None without a limit."""
    if dtype[1] not in "iu":
        return None
    kind = np.dtype(f"<{facts.sign or dtype[1]}{dtype[2:]}")
    beyond = [
        np.asarray(limit).astype(dtype).view(kind).item() + step
        for limit, step in ((facts.lowest, -1), (facts.highest, 1))
        if limit is not None
    ]
    fitting = [one for one in beyond if np.iinfo(kind).min <= one <= np.iinfo(kind).max]
    return np.asarray(fitting[0], kind).view(dtype)[()] if fitting else None


def _select_groups(group: Group, path: str, outer: set[str]) -> tuple[Group, ...]:
    """Return the groups below a group that are on the way to a variable or dimension."""
    return tuple(
        child.model_copy(update={"groups": _select_groups(child, fqn, outer)})
        for child in group.groups
        if (fqn := names.join(path, child.name)) in outer
    )


def _join_attributes(attributes: Any, members: Json) -> tuple[Attribute, ...]:
    """Return attributes with JSON members; entries of `zarr_conventions` follow those that are there."""
    members = dict(members)
    for one in attributes:
        if one.name == "zarr_conventions" and one.name in members and one.json is not None:
            members[one.name] = [*json.loads(one.json), *members[one.name]]
    kept = (one for one in attributes if one.name not in members)
    return (*kept, *(make_attribute(name, value) for name, value in members.items()))
