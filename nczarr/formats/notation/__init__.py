"""The NCZarr notation: the data model specification's abstract grammar as a readable and writable language.

It expresses the whole model without data. Grammar: `syntax/grammars/NCZarr.g4`;
departures from the specification: `docs/reference/formats/notation.md`.
"""

from nczarr.registry import Capabilities, Display, Format, ReadingTraits

FORMAT = Format(
    name="notation",
    title="NCZarr notation",
    suffixes=(".ncz",),
    spec="docs/reference/formats/notation.md",
    capabilities=Capabilities(axis_names=False, data=False),
    detects=r"(?:\s|//[^\n]*\n|\xef\xbb\xbf)*dataset(?![!#-.0-\[\]-z|~\x80-\xff])",
    read="nczarr.formats.notation.frontend:read",
    write="nczarr.formats.notation.backend:write",
    reading=ReadingTraits(resident=2, only_reader=True),
    display=Display(dumped=True, string_escapes="hex"),
)
