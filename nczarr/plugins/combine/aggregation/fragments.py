"""Fragments of aggregation variables as array sources, whose datasets are opened when values are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nczarr.arrays.lazy_numpy import NDArray
from nczarr.arrays.regions import Region, Selection
from nczarr.arrays.sources.source import ArraySource, Layout
from nczarr.diagnostics.report import CompileError, Diagnostic, Report, Severity
from nczarr.diagnostics.secrets import show
from nczarr.names.records import frozen
from nczarr.options import Options
from nczarr.plugins.combine.aggregation.canonical_form import CanonicalForm, UnfitFragmentError, convert_fragment
from nczarr.plugins.common.linked_files import find_forbidden_link
from nczarr.semantics.checked import Checked
from nczarr.stores.ranges import BoundedCache
from nczarr.stores.url import is_remote

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
