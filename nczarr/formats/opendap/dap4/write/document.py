"""Document (DMR) of some variables of a dataset, as libnetcdf's server writes it.

    nczarr:count    number of values that an attribute of the dataset has; further ones are for other clients

libnetcdf (4.9.0 to 4.10.1) converts a Float32 attribute twice, which replaces its
last three bits. So these attributes are Float64, which has all their values. Only
`_FillValue` must have the type of its variable: `missing_value` repeats it as Float64.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from nczarr.ast import Attribute, Constant, OpaqueType
from nczarr.ast.values import shortest
from nczarr.check.checked import Checked
from nczarr.formats.opendap.common.dmr_writer import (
    STEP,
    AttributeText,
    DmrWriter,
    Projection,
    XmlAttributes,
    attribute_lines,
)
from nczarr.formats.opendap.common.document_text import LEFT_OUT, dap4_name, is_safe_text, shown

FILL, MISSING = "_FillValue", "missing_value"


def dmr(checked: Checked, projection: Projection, name: str) -> str:
    """Return the document of a projection; `name`: name of the dataset."""
    return "".join(line + "\n" for line in _ServedDmr(checked, projection).document("2.0", name, {}))


class _ServedDmr(DmrWriter):
    dialect = "dap4"
    unlimited = ("_edu.ucar.isunlimited", "1")

    def __init__(self, checked: Checked, projection: Projection) -> None:
        super().__init__(checked, projection)
        self.left_out: list[str] = []
        self.restored: list[str] = []
        """Messages about losses that our own client does not have."""

    def end(self) -> Iterator[str]:
        """Yield the attribute with messages about losses."""
        messages = [*self.left_out, *self.restored]
        if messages:
            texts = [shown(message.encode("utf-8", "surrogateescape")) for message in messages]
            hints: XmlAttributes = {"nczarr__type": "string", "nczarr__count": len(self.left_out)}
            yield from attribute_lines(LEFT_OUT, AttributeText("String", hints, texts), STEP)

    def attributes(self, attributes: tuple[Attribute, ...], owner: str, step: str) -> Iterator[str]:
        """Yield the lines of attributes, with a fill value of floats as `missing_value`."""
        fill = _repeated_fill(attributes) if owner in self.selected else ()
        for attribute in attributes:
            written = self.attribute(attribute, owner)
            if written is not None:
                if fill and attribute.name == MISSING:
                    hints = {**written.hints, "nczarr__count": len(written.texts)}
                    written = written._replace(hints=hints, texts=[*written.texts, *fill])
                yield from attribute_lines(attribute.name, written, step)
        if fill and all(attribute.name != MISSING for attribute in attributes):
            yield from attribute_lines(MISSING, AttributeText(self.word("double"), {"nczarr__count": 0}, fill), step)

    def attribute(self, attribute: Attribute, owner: str) -> AttributeText | None:
        """Return the text of an attribute, and note losses."""
        value, declared = attribute.value, self.types.get(attribute.value.type)
        place = f"{owner}@{attribute.name}"
        opaque_hints: XmlAttributes = {}
        if isinstance(declared, OpaqueType):
            opaque_hints = {"nczarr__type": dap4_name(value.type), "_edu.ucar.opaque.size": declared.size}
            attribute = attribute.model_copy(update={"value": value.model_copy(update={"type": "ubyte"})})
        written = super().attribute(attribute, owner)
        if written is None:
            self.left_out.append(f"{place}: attributes are numbers and texts")
            return None
        texts: Sequence[str] = ["NaN" if text == "nan" else text for text in written.texts]
        if value.type in ("char", "string"):
            texts = self._texts(value, place, written.texts)
        elif value.type == "float" and attribute.name != FILL:
            texts = ["NaN" if math.isnan(number) else shortest(number, "double") for number in value.as_numbers()]
            written = AttributeText(self.word("double"), {"nczarr__type": "float", **written.hints}, texts)
        if not texts:
            self.left_out.append(f"{place}: an attribute has at least one value")
            return None
        return written._replace(hints=opaque_hints | written.hints, texts=texts)

    def _texts(self, value: Constant, place: str, texts: Sequence[str]) -> Sequence[str]:
        """Return the texts of an attribute as other clients show them, and note what they do not have."""
        items = (value.data,) if isinstance(value.data, bytes) else value.data
        if isinstance(value.data, bytes) and value.data.endswith(b"\0"):
            self.restored.append(f"{place}: NULs at the end")
            items = (value.data.rstrip(b"\0"),)
            texts = [shown(items[0] or b"")]
        if not all(_is_exact(item) for item in items if isinstance(item, bytes)):
            self.restored.append(f"{place}: characters that XML does not hold are replaced")
        return texts


def _repeated_fill(attributes: tuple[Attribute, ...]) -> tuple[str, ...]:
    """Return the text of a fill value of floats that `missing_value` must repeat: it lacks it, or is missing."""
    values = {attribute.name: attribute.value for attribute in attributes}
    fill, missing = values.get(FILL), values.get(MISSING)
    if fill is None or fill.type != "float" or fill.count != 1:
        return ()
    (number,) = fill.as_numbers()
    if math.isnan(number) or (missing is not None and missing.type not in ("float", "double")):
        return ()
    is_there = missing is not None and number in missing.as_numbers()
    return () if is_there else (shortest(number, "double"),)


def _is_exact(text: bytes) -> bool:
    try:
        return is_safe_text(text.decode())
    except UnicodeDecodeError:
        return False
