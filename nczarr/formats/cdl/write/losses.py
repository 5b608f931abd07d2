"""Losses of a dataset in CDL (docs/reference/formats/cdl.md, "What CDL cannot say"), found before writing.

Only losses of single names and values; format features are in
`capabilities.py`. Only requested data are examined.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from nczarr import names
from nczarr.ast import Attribute, Dataset
from nczarr.ast.dataset import VERSION
from nczarr.ast.walk import groups
from nczarr.check.checked import Checked
from nczarr.diagnostics.source import Span
from nczarr.formats.cdl.write.backend import dataset_name, printed
from nczarr.formats.cdl.write.data_section import cut, grown
from nczarr.formats.cdl.write.inexact_values import NAN, UNNAMED, in_constant, in_variable
from nczarr.formats.cdl.write.representable import sayable
from nczarr.options import Options
from nczarr.plan.hdf5_losses import cut_strings
from nczarr.plan.plans import Loss


def losses(checked: Checked, options: Options) -> Iterator[Loss]:
    """Yield everything that the text omits or changes."""
    checked, unsayable = sayable(checked)
    yield from _dataset(checked.dataset, options)
    yield from unsayable
    for path, group in groups(checked.dataset):
        yield from _attributes(path, group.attributes, checked)
        for variable in group.variables:
            fqn = names.join(path, variable.name)
            yield from _attributes(fqn, variable.attributes, checked)
            if variable.storage.element is not None:
                text = f"variable `{fqn}`, that its values are {variable.storage.element}"
                yield Loss("storage", "annotation", fqn, text, variable.span)
    shown = printed(checked, options)
    for fqn, variable in checked.variables.items():
        if fqn in shown and fqn in checked.parts:
            shape, fill = checked.shapes[fqn], checked.fills[fqn]
            odd = in_variable(checked.parts[fqn], variable.type, shape, checked.types, fill)
            yield from _odd(f"variable `{fqn}`", fqn, odd, variable.span)
            if not options.header_only and cut(checked, fqn, checked.parts[fqn]):
                text = f"variable `{fqn}` has unwritten cells without its fill value, too many to print"
                yield Loss("lost-fill", "value", fqn, text, variable.span)
    yield from cut_strings(checked, shown)
    if not (options.header_only or options.coordinates_only or options.variables or options.groups):
        yield from _lengths(checked, shown)


def _dataset(dataset: Dataset, options: Options) -> Iterator[Loss]:
    if options.name is None and dataset_name(dataset.name) != dataset.name:
        text = f"the dataset's name, `{dataset.name}`: characters that CDL does not allow become `_`"
        yield Loss("dataset-name", "annotation", "/", text, dataset.span)
    if dataset.version != VERSION:
        text = f"the version of the data model, {dataset.version}"
        yield Loss("version", "annotation", "/", text, dataset.span)


def _attributes(path: str, attributes: tuple[Attribute, ...], checked: Checked) -> Iterator[Loss]:
    for attribute in attributes:
        odd = in_constant(attribute.value, checked.types)
        if odd:
            yield from _odd(f"attribute `{attribute.name}` of `{path}`", path, odd, attribute.span)


def _odd(what: str, path: str, odd: Counter[str], span: Span) -> Iterator[Loss]:
    """Yield the losses of unspellable values."""
    if odd[NAN]:
        text = f"{what}, NaNs ({odd[NAN]}) with unusual bits"
        yield Loss("nan-bits", "annotation", path, text, span)
    if odd[UNNAMED]:
        count = f"{odd[UNNAMED]} value{'s' * (odd[UNNAMED] > 1)}"
        text = f"{what} has {count} without an enum constant, which CDL cannot express"
        yield Loss("unnamed-value", "value", path, text, span)


def _lengths(checked: Checked, shown: set[str]) -> Iterator[Loss]:
    """Yield the unlimited dimensions whose length no printed value determines."""
    determined = {reference for fqn in shown for reference in grown(checked, fqn)}
    for fqn, dimension in checked.dimensions.items():
        if not dimension.unlimited or not dimension.size or fqn in determined:
            continue
        text = f"dimension `{fqn}` would have length 0: no variable along it has a value that CDL can express"
        yield Loss("lost-length", "value", fqn, text, dimension.span)
