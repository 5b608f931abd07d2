"""Fragments of aggregation variables as array sources, whose datasets are opened when values are read.

They have the canonical form of CF 2.8.2: the type, units and missing values of the aggregation variable, unpacked.
A fragment that has this form already is the array of its file, with its chunks. Others
are converted where they are read: numbers are rounded to a type of floats, and must be
exact in a type of integers; dates stay exact if the type can express them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from nczarr import names
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Region, Selection
from nczarr.arrays.sources.memory import is_complete
from nczarr.arrays.sources.source import ArraySource, DerivedSource, Layout, find_unwritten, little, numpy_dtype
from nczarr.arrays.values.time_units import CALENDARS
from nczarr.diagnostics.report import CompileError, Diagnostic, Report, Severity, suggest
from nczarr.diagnostics.secrets import show
from nczarr.names.records import frozen
from nczarr.options import Options
from nczarr.pipeline.select.physical import NUMBERS, Physical, attributes_of, physical, text_of
from nczarr.plugins.cf.udunits import UNJUDGED, load_units
from nczarr.plugins.combine.arrays.interleave import Raised
from nczarr.plugins.combine.join.recode import in_units
from nczarr.plugins.common.linked_files import find_forbidden_link
from nczarr.plugins.unpack.unpack import Unpacking, unpacking_of
from nczarr.semantics.checked import Checked, whole_parts
from nczarr.stores.ranges import BoundedCache
from nczarr.stores.url import is_remote

TYPES = NUMBERS | {"char", "string"}
"""Types of aggregation variables."""


class UnfitFragmentError(ValueError):
    """A fault of an aggregation variable or of a fragment, in words."""

    def __init__(self, text: str, helps: Iterable[str] = ()) -> None:
        super().__init__(text)
        self.helps = tuple(helps)


def require(is_met: object, text: str) -> None:
    """Raise UnfitFragmentError unless a condition is met."""
    if not is_met:
        raise UnfitFragmentError(text)


class CanonicalForm(NamedTuple):
    """Form of the values of an aggregation variable."""

    path: str
    """FQN of the variable."""
    type: str
    """Its type, one of `TYPES`."""
    physical: Physical
    """Its missing values and units."""
    calendar: str
    """Name of the calendar, if its values are dates."""
    unpacking: Unpacking | None = None
    """Arithmetic of packed values."""


def canonical_form_of(checked: Checked, path: str) -> CanonicalForm:
    """Return the form of the values of a variable."""
    conversion = physical(checked, path) if checked.variables[path].type in NUMBERS else Physical()
    calendar = text_of(attributes_of(checked, path), "calendar").lower() or "standard"
    return CanonicalForm(path, checked.variables[path].type, conversion, calendar, unpacking_of(path, checked))


def convert_fragment(checked: Checked, identifier: str, form: CanonicalForm, layout: Layout, name: str) -> ArraySource:
    """Return a variable of a fragment dataset in its canonical form.

    `layout`: of the fragment in the aggregated array. `name`: of the dataset for messages.
    Raises UnfitFragmentError.
    """
    path = names.fqn(part for part in names.normal(identifier).strip().split("/") if part)
    variable = checked.variables.get(path)
    if variable is None:
        known = [other.lstrip("/") for other in checked.variables]
        raise UnfitFragmentError(f"it has no variable `{identifier}`", suggest(identifier, known))
    is_plain = all(attribute.name != "aggregated_data" for attribute in variable.attributes)
    require(is_plain, f"`{identifier}` is an aggregation variable itself")
    is_possible = form.type == variable.type or {form.type, variable.type} <= NUMBERS
    require(is_possible, f"`{identifier}` has type `{variable.type}`, which cannot become `{form.type}`")
    source = _add_axes(whole_parts(checked, path)[""], layout.shape, identifier)
    if variable.type not in NUMBERS:
        return source
    stored = canonical_form_of(checked, path)
    converted = CanonicalFragment(source, layout, stored, form, name)
    if _is_same(stored, form) and (find_unwritten(source) == find_unwritten(converted) or is_complete(source)):
        return source
    units, target = stored.physical.units, form.physical.units
    if (units and units != target) or (stored.physical.times is not None and stored.calendar != form.calendar):
        _check_units(stored, form, identifier)
    return converted


def _add_axes(source: ArraySource, shape: tuple[int, ...], identifier: str) -> ArraySource:
    """Return an array with the dimensions of length 1 that it lacks. Raises UnfitFragmentError for another shape."""
    lengths, axes = list(source.layout.shape), []
    for axis, length in enumerate(shape):
        if lengths and lengths[0] == length:
            del lengths[0]
        elif length == 1:
            axes.append(axis)
        else:
            break
    is_whole = not lengths and len(source.layout.shape) + len(axes) == len(shape)
    require(is_whole, f"`{identifier}` has the shape {list(source.layout.shape)}, and its place {list(shape)}")
    return Raised(source, tuple(axes)) if axes else source


def _is_same(stored: CanonicalForm, form: CanonicalForm) -> bool:
    """Return whether stored values need no conversion."""
    one, other = stored.physical, form.physical
    return (
        stored.type == form.type
        and (one.scale, one.offset, one.sign) == (None, None, other.sign)
        and one.units in ("", other.units)
        and (one.times is None or stored.calendar == form.calendar)
        and set(one.missing) <= set(other.missing)
        and (one.lowest, one.highest) in ((None, None), (other.lowest, other.highest))
    )


def _check_units(stored: CanonicalForm, form: CanonicalForm, identifier: str) -> None:
    """Raise UnfitFragmentError for units that cannot be converted, and without the library that converts them."""
    units, target = stored.physical.units, form.physical.units
    if stored.physical.times is not None and form.physical.times is not None:
        text = f"`{identifier}` has dates of the calendar `{stored.calendar}`, not `{form.calendar}`"
        require(CALENDARS.get(stored.calendar) == CALENDARS.get(form.calendar), text)
        return
    system = load_units()
    if system is None:
        text = f"`{identifier}` has the units `{units}`, and only `cf-units` can convert them to `{target}`"
        raise UnfitFragmentError(text, ["run `pip install 'nczarr[cf]'`"])
    is_known = target and all(one not in UNJUDGED and system.is_valid(one) for one in (units, target))
    is_possible = is_known and system.is_equivalent(units, target)
    require(is_possible, f"`{identifier}` has the units `{units}`, which cannot become `{target}`")


@frozen
class CanonicalFragment(DerivedSource):
    """Numbers of a fragment, converted to the type, units and missing values of the aggregation variable."""

    layout: Layout
    """Layout in the aggregated array, with the chunks in which the fragment is read."""
    form: CanonicalForm
    """Form of the stored values."""
    target: CanonicalForm
    """Form of the aggregation variable."""
    name: str
    """Name of the fragment dataset for messages."""

    def read(self, selection: Selection) -> NDArray[Any]:
        """Return the converted values of a region, in its shape and the layout's dtype. Raises CompileError."""
        values, missing = self.form.physical.mask(stored := little(self.source.read(selection)))
        nan = np.isnan(values) & missing if values.dtype.kind == "f" else np.zeros((), np.bool_)
        values = values if self.form.unpacking is None else self.form.unpacking.decode(stored)
        dtype = numpy_dtype(self.layout.dtype)
        kept = nan if dtype.kind == "f" else np.zeros((), np.bool_)  # NaN stays NaN where it can
        try:
            out = cast_values(self._convert_units(values, missing), missing & ~kept, dtype)
        except UnfitFragmentError as fault:
            text = f"aggregation variable `{self.target.path}`, fragment `{self.name}`: {fault}"
            raise CompileError([Diagnostic("bad-fragment", Severity.ERROR, text, helps=fault.helps)]) from None
        out[missing & ~kept] = np.frombuffer(find_unwritten(self), out.dtype.newbyteorder("<"))[0]
        return out

    def _convert_units(self, values: NDArray[Any], missing: NDArray[np.bool_]) -> NDArray[Any]:
        """Return values in the units of the aggregation variable. Raises UnfitFragmentError for an unknown unit."""
        units, target = self.form.physical.units, self.target.physical.units
        if not units or units == target:
            return values
        times, target_times = self.form.physical.times, self.target.physical.times
        if times is not None and target_times is not None:
            converted, fault = in_units(values.astype(values.dtype.newbyteorder("=")), missing, times, target_times)
            if fault is None:
                return converted
            scale, shift = times.unit / target_times.unit, (times.start - target_times.start) / target_times.unit
            return values.astype("f8") * float(scale) + float(shift)
        system = load_units()
        return values if system is None else system.convert(values.astype("f8"), units, target)


def cast_values(values: NDArray[Any], missing: NDArray[np.bool_], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return numbers in another dtype, zero where they are missing. Raises UnfitFragmentError where that is impossible.

    Numbers are rounded to a type of floats, and exact in a type of integers.
    """
    present = np.where(missing, values.dtype.type(0), values)
    with np.errstate(all="ignore"):
        out = np.asarray(present.astype(dtype))
        if dtype.kind == "f":
            wrong = np.isinf(out) & ~np.isinf(present)
        else:
            wrong = (out != present) | ((out < 0) != (present < 0))
    if wrong.any():
        raise UnfitFragmentError(f"the value {present[wrong].reshape(-1)[0]} cannot become `{dtype.newbyteorder('=')}`")
    return out


OPENED = 64
"""Maximum fragment datasets of an aggregation dataset that are open at once."""


DatasetReader = Callable[[str, Report, Options], Checked | None]
"""Function that reads the dataset at a path or URL; None after a reported error. Raises OSError."""


class FragmentReader:
    """Opens fragment datasets, and keeps the last ones open. A pickled one has the options alone."""

    def __init__(self, read: DatasetReader, options: Options) -> None:
        self._read = read
        self.options = options
        self._datasets: BoundedCache[str, Checked] = BoundedCache(OPENED)

    def __reduce__(self) -> tuple[Any, ...]:
        return FragmentReader, (self._read, self.options)

    def open_dataset(self, place: str) -> Checked:
        """Return the dataset at a path or URL. Raises OSError, UnfitFragmentError."""
        checked: Checked | None = self._datasets.get(place)
        if checked is not None:
            return checked
        report, link = Report(), find_forbidden_link(place, self.options.reading.following)
        if link is not None:
            raise UnfitFragmentError(f"it refers to `{link}`, which is outside all allowed roots")
        checked = self._read(place, report, self.options)
        if checked is None or report.errors:
            reasons = [each.message for each in report.list_sorted() if each.severity is Severity.ERROR]
            raise UnfitFragmentError("; ".join(reasons[:3]) or "it cannot be read")
        self._datasets.put(place, checked)
        return checked


@frozen
class FragmentArray(ArraySource):
    """One fragment: a variable of another dataset, in its canonical form."""

    layout: Layout
    """Layout in the aggregated array, with the chunks in which it is read."""
    reader: FragmentReader
    """Reader of the fragment datasets, shared by all fragments."""
    location: str
    """Path or URL of the fragment dataset."""
    identifier: str
    """Name of the variable there."""
    form: CanonicalForm
    """Form of the aggregation variable."""

    @property
    def viewed(self) -> bool:
        """False: a read may open the dataset."""
        return False

    @property
    def distant(self) -> bool:
        """True for a URL."""
        return is_remote(self.location)

    def read(self, selection: Selection) -> NDArray[Any]:
        """Return the values of a region, in its shape and the layout's dtype. Raises CompileError."""
        return self.open_fragments().read(selection)

    def read_into(self, selection: Selection, out: NDArray[Any]) -> None:
        """Put the values of a region into `out`, as `ArraySource.read_into`. Raises CompileError."""
        self.open_fragments().read_into(selection, out)

    def open_fragments(self, region: Region | None = None) -> ArraySource:
        """Return the array of the opened dataset. Raises CompileError: unreadable-fragment, bad-fragment."""
        code, name = "unreadable-fragment", show(self.location)
        try:
            checked = self.reader.open_dataset(self.location)
            code = "bad-fragment"
            return convert_fragment(checked, self.identifier, self.form, self.layout, name)
        except (UnfitFragmentError, OSError) as error:
            reason, helps = getattr(error, "strerror", None) or str(error), getattr(error, "helps", ())
            text = f"aggregation variable `{self.form.path}`, fragment `{name}`: {reason}"
            raise CompileError([Diagnostic(code, Severity.ERROR, text, helps=helps)]) from error
