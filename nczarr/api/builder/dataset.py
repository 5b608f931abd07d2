"""Root of a dataset under construction, and `finish`, which builds and checks the tree."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from nczarr import names
from nczarr.api.builder.group import GroupBuilder
from nczarr.api.builder.pieces import PendingAttribute, PendingVariable, Site, UnsuitedValueError, caller
from nczarr.api.builder.scope import BuilderScope, groups, survey
from nczarr.api.builder.values import attribute_constant
from nczarr.api.hints import add_hints
from nczarr.arrays.lazy_numpy import np
from nczarr.ast import ATOMIC, Attribute, Constant, Dataset, Dimension, Group, Variable
from nczarr.ast.dataset import KIND_SPELLINGS
from nczarr.ast.plain_json import JsonText, narrow
from nczarr.diagnostics.report import CompileError, Span, suggest

if TYPE_CHECKING:
    from nczarr.api.builder.foreign_arrays import ArrayData
    from nczarr.api.handle import DatasetHandle
    from nczarr.arrays.sources.source import Parts


class DatasetBuilder(GroupBuilder):
    """A dataset under construction: declare its content, then call `finish`.

    A declaration with an error raises CompileError and declares nothing; `finish` reports
    all errors of the data at once.

    Parameters
    ----------
    name : str
        Name of the dataset.
    kind : str, optional
        Kind of netCDF file that the dataset must fit: nc3, nc6, nc5, nc4 or nc7.

    Examples
    --------
    >>> import nczarr
    >>> builder = nczarr.DatasetBuilder("ocean")
    >>> time = builder.dimension("time", unlimited=True)
    >>> temperature = builder.variable("temp", "float", [time, 2], fill_value=-9.0, chunks=(1, 2))
    >>> _ = temperature.attribute("units", "K")
    >>> dataset = builder.finish(data={"/temp": [[1, 2], [3, 4]]})
    >>> dataset["temp"][-1].tolist()
    [3.0, 4.0]
    """

    @add_hints
    def __init__(self, name: str = "", *, kind: str | None = None) -> None:
        site = Site()
        site.survey = partial(survey, self)
        super().__init__(site, "/", site.name(name, "the dataset") if name != "" else "")
        self._kind = KIND_SPELLINGS.get(str(kind)) if kind is not None else None
        if kind is not None and self._kind is None:
            site.error("bad-special-value", f"{kind!r} is not a kind of netCDF file; use nc3, nc6, nc5, nc4 or nc7")
        if site.report.errors:
            raise CompileError(site.report.list_sorted())

    @add_hints
    def finish(self, data: Mapping[str, Any] | None = None) -> DatasetHandle:
        """Build and check the dataset. The builder can go on, also after an error.

        Parameters
        ----------
        data : Mapping of str to array_like, optional
            Values by fully qualified name of a variable. Unlimited dimensions grow to
            the values; along other dimensions the lengths must match. Masked cells become
            the fill value. A variable of numbers without one gets netCDF's default fill
            value of its type, declared as `_FillValue`; other values must not equal it.
            Dates and durations of NumPy become numbers of the variable's `units` and
            `calendar`, by default of their own unit since 1970; NaT is a masked cell.
            Dask arrays are computed when they are read.

        Returns
        -------
        DatasetHandle
            The checked dataset. Variables without data have fill values.

        Raises
        ------
        CompileError
            If the declarations or the data have errors; `.diagnostics` has all of them.
        """
        from nczarr.api.handle import DatasetHandle
        from nczarr.semantics import check
        from nczarr.semantics.checked import Unchecked

        with self._site.call("", "", here := caller()):
            assembly = Assembly(self, self._site, here)
            tree, parts = assembly.tree(assembly.mapping(data))
            checked = check(Unchecked(tree, forward=True, parts=parts), self._site.report)
        report = self._site.report
        if checked is None or report.errors:
            raise CompileError(report.list_sorted())
        return DatasetHandle(checked, report.list_sorted())


Declaration = tuple[GroupBuilder, PendingVariable]
"""A declared variable with its group."""


class Assembly:
    """One run of `finish`: resolves names, converts values to constants and arrays, and builds the nodes."""

    def __init__(self, root: DatasetBuilder, site: Site, here: Span) -> None:
        """Prepare the build; `here` is the place of the caller, for errors that have no other one."""
        self.root = root
        self.site = site
        self.here = here
        self.scope: BuilderScope = survey(root)
        self.extents: dict[str, int] = {}
        self.fills: dict[str, Constant] = {}
        self.added: dict[str, dict[str, Constant]] = {}
        """Attributes that the data of variables need, by path and name."""
        self.shared: dict[str, Any] = {}
        """State that the lazy arrays of all variables share."""

    def tree(self, data: dict[str, Any]) -> tuple[Dataset, dict[str, Parts]]:
        """Return the declared dataset, and the arrays of the variables with data."""
        variables = {variable.path: (group, variable) for group in groups(self.root) for variable in group.variables}
        named = self._name(data, variables)
        shapes = {
            path: shape for path in named if (shape := self._find_shape(named[path], *variables[path])) is not None
        }
        root = self._build_group(self.root)
        dataset = Dataset(
            name=self.root.name,
            kind=self.root._kind,
            types=root.types,
            dimensions=root.dimensions,
            variables=root.variables,
            attributes=root.attributes,
            groups=root.groups,
            span=root.span,
        )
        parts = {
            path: variable_parts
            for path in shapes
            if (variable_parts := self._build_parts(named[path], shapes[path], *variables[path]))
        }
        return dataset, parts

    def mapping(self, data: Any) -> dict[Any, Any]:
        """Return data by name; reports anything but a mapping."""
        try:
            return {} if data is None else dict(data)
        except (TypeError, ValueError):
            text = f"data must be a mapping from variable names to values, not `{type(data).__name__}`"
            self.site.error("type-mismatch", text, self.here)
            return {}

    def _name(self, data: dict[Any, Any], variables: Mapping[str, Declaration]) -> dict[str, ArrayData]:
        """Return data by variable FQN; reports other names."""
        from nczarr.api.builder.foreign_arrays import convert_foreign

        out = {}
        for written, values in data.items():
            path = _path(written)
            if isinstance(path, str) and path in variables:
                try:
                    out[path] = self._with_times(convert_foreign(values, times=True), *variables[path])
                    self._declare_fill(out[path], *variables[path])
                except UnsuitedValueError as refused:
                    self._refuse(refused, f"variable `{path}`", self.here)
                continue
            hint = suggest(str(path), variables)
            self.site.report.error("undefined-variable", f"variable `{written}` is not defined", self.here, helps=hint)
        return out

    def _with_times(self, data: ArrayData, group: GroupBuilder, variable: PendingVariable) -> ArrayData:
        """Return dates and durations as numbers, and note the attributes that they need. Raises UnsuitedValueError."""
        if getattr(getattr(data.values, "dtype", None), "kind", "") not in ("M", "m"):
            return data
        from nczarr.api.builder.foreign_arrays import DATES, ArrayData, find_lazy
        from nczarr.api.builder.times import encode_times, units_of

        kind = self.scope.type(variable.type, group.path)
        if kind not in ATOMIC or not (ATOMIC[kind].is_integer or ATOMIC[kind].is_float):
            raise UnsuitedValueError("type-mismatch", f"{data.values.dtype} cannot be stored in type {kind}", DATES)
        attributes = {attribute.name: attribute.value for attribute in variable.attributes}
        units = units_of(data.values.dtype, attributes.get("units"), attributes.get("calendar"))
        added = {
            name: Constant.text(text.encode())
            for name, text in (("units", units.text), ("calendar", units.calendar))
            if name not in attributes and text is not None
        }
        if find_lazy(data.values) is not None:
            numbers, mask = encode_times(data.values, units), None  # the blocks are masked
        else:
            values = data.values if data.mask is None else np.ma.masked_array(data.values, data.mask)
            masked_numbers = encode_times(np.ma.asanyarray(values), units)
            numbers, mask = np.ma.getdata(masked_numbers), np.ma.getmaskarray(masked_numbers)
        self.added[variable.path] = added
        return ArrayData(numbers, mask if mask is not None and mask.any() else None)

    def _declare_fill(self, data: ArrayData, group: GroupBuilder, variable: PendingVariable) -> None:
        """Note netCDF's default fill value for masked numbers: readers of Zarr, such as xarray, know declared ones."""
        from nczarr.api.builder.arrays import has_known_fill
        from nczarr.semantics.check_types import default_fill

        kind = self.scope.type(variable.type, group.path)
        if (
            kind is None
            or not _has_masked_cells(data)
            or any(attribute.name == "_FillValue" for attribute in variable.attributes)
        ):
            return
        fill = default_fill(kind, self.scope.types)
        if fill is not None and has_known_fill(kind) and not variable.storage.no_fill:
            self.added.setdefault(variable.path, {})["_FillValue"] = fill

    def _find_shape(self, data: ArrayData, group: GroupBuilder, variable: PendingVariable) -> tuple[int, ...] | None:
        """Return the shape of a variable's data; unlimited dimensions grow to it, others must match."""
        from nczarr.api.builder.arrays import shape_of

        kind = self.scope.type(variable.type, group.path)
        if kind is None:
            return None
        try:
            shape = shape_of(data.values, kind, len(variable.dimensions), self.scope.types)
        except UnsuitedValueError as refused:
            self._refuse(refused, f"variable `{variable.path}`", self.here)
            return None
        for axis, (reference, length) in enumerate(zip(variable.dimensions, shape, strict=True)):
            path = self.scope.dimension(reference, group.path) if isinstance(reference, str) else None
            declared = self.scope.dimensions.get(path) if path is not None else None
            size = reference if isinstance(reference, int) else declared.size if declared is not None else length
            if declared is not None and declared.unlimited and path is not None:
                self.extents[path] = max(self.extents.get(path, declared.size), length)
            elif length > size or (length < size and not (kind == "char" and axis == len(shape) - 1)):
                text = (
                    f"the data of `{variable.path}` have {length} values along dimension {reference}, which has {size}"
                )
                self.site.error("shape-mismatch", text, self.here)
                return None
        return shape

    def _build_parts(
        self, data: ArrayData, data_shape: tuple[int, ...], group: GroupBuilder, variable: PendingVariable
    ) -> Parts | None:
        """Return the arrays of a variable's data, with fill values in masked cells; None after a reported error."""
        from nczarr.api.builder.arrays import parts_of, with_fill
        from nczarr.semantics.check_types import default_fill

        kind = self.scope.type(variable.type, group.path)
        shape = tuple(self._length(reference, group.path) for reference in variable.dimensions)
        if kind is None or None in shape:
            return None
        declared_fill = self.fills.get(variable.path)
        fill = declared_fill or default_fill(kind, self.scope.types)
        lengths = tuple(length for length in shape if length is not None)
        types, shared = self.scope.types, self.shared
        try:
            if not _has_masked_cells(data):
                return parts_of(data.values, kind, data_shape, lengths, fill, types, shared)
            no_fill = declared_fill is None and variable.storage.no_fill
            declared = declared_fill is not None
            return with_fill(
                data, kind, data_shape, lengths, fill, types, declared=declared, no_fill=no_fill, shared=shared
            )
        except UnsuitedValueError as refused:
            self._refuse(refused, f"variable `{variable.path}`", self.here)
        return None

    def _length(self, reference: str | int, group: str) -> int | None:
        if isinstance(reference, int):
            return reference
        path = self.scope.dimension(reference, group)
        return None if path is None else self.extents.get(path, self.scope.dimensions[path].size)

    def _refuse(self, refused: UnsuitedValueError, what: str, span: Span) -> None:
        self.site.error(refused.code, f"{what}: {refused}", span, [refused.remedy] if refused.remedy else [])

    def _build_group(self, group: GroupBuilder) -> Group:
        return Group(
            name=group.name or "_",
            types=tuple(group.types),
            dimensions=tuple(self._dimension(dimension, group.path) for dimension in group.dimensions),
            variables=tuple(self._build_variable(variable, group.path) for variable in group.variables),
            attributes=self._build_attributes(group.attributes, group.path, f"group `{group.path}`"),
            groups=tuple(self._build_group(child) for child in group.groups),
            span=group.span,
        )

    def _dimension(self, declared: Dimension, group: str) -> Dimension:
        size = self.extents.get(names.join(group, declared.name), declared.size)
        if not declared.unlimited or size == declared.size:
            return declared
        return Dimension(name=declared.name, size=size, unlimited=True, span=declared.span)

    def _build_variable(self, pending: PendingVariable, group: str) -> Variable:
        attributes = self._build_attributes(pending.attributes, group, f"variable `{pending.path}`", pending.type)
        for attribute in attributes:
            if attribute.name == "_FillValue":
                self.fills[pending.path] = attribute.value
        for name, value in self.added.get(pending.path, {}).items():
            attributes += (Attribute(name=name, value=value, span=pending.span),)
        return Variable(
            name=pending.name,
            type=pending.type,
            dimensions=pending.dimensions,
            attributes=attributes,
            storage=pending.storage,
            span=pending.span,
        )

    def _build_attributes(
        self, pending: list[PendingAttribute], group: str, owner: str, variable_type: str | None = None
    ) -> tuple[Attribute, ...]:
        """Return attributes with their values as constants; report those that cannot be, and leave them out."""
        out = []
        for attribute in pending:
            if isinstance(attribute.value, JsonText):
                text = attribute.value.text
                value = narrow(json.loads(text))
                out.append(Attribute(name=attribute.name, value=value, json=text, span=attribute.span))
                continue
            written = variable_type if attribute.name == "_FillValue" and attribute.type is None else attribute.type
            try:
                kind = None if written is None else self.scope.type(written, group)
                if kind is None and written is not None:
                    if written != variable_type:  # else the variable itself is reported
                        text = f"type `{written}` of attribute `{attribute.name}` is undefined or invalid"
                        self.site.error("undefined-type", text, attribute.span)
                    continue
                value = attribute_constant(attribute.value, kind, self.scope.types)
            except UnsuitedValueError as refused:
                self._refuse(refused, f"attribute `{attribute.name}` of {owner}", attribute.span)
                continue
            out.append(Attribute(name=attribute.name, value=value, span=attribute.span))
        return tuple(out)


def _has_masked_cells(data: ArrayData) -> bool:
    """Return whether cells are masked, or may be in the blocks of a lazy array."""
    from nczarr.api.builder.foreign_arrays import find_lazy

    lazy = None if data.mask is not None else find_lazy(data.values)
    return data.mask is not None or (lazy is not None and lazy.is_masked(data.values))


def _path(written: object) -> object:
    """Return a key of `data` as FQN: a path with or without escaped blanks, or the name of a root variable."""
    if not isinstance(written, str):
        return written
    try:
        return names.fqn(map(names.normal, names.split(written if written.startswith("/") else "/" + written)))
    except ValueError:
        return written
