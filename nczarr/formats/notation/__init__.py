"""The NCZarr notation: the data model specification's abstract grammar as a language that can be read back.

Reads and writes the whole model without data, and loses nothing of it. Grammar: `grammar/NCZarr.g4`; what
departs from the specification, and why: `docs/notation.md`.
"""

from nczarr.capabilities import Capabilities, Format

FORMAT = Format(
    name="notation",
    title="NCZarr notation",
    suffixes=(".ncz",),
    spec="docs/notation.md",
    capabilities=Capabilities(data=False),
    detects=r"(?:\s|//[^\n]*\n|\xef\xbb\xbf)*dataset(?![!#-.0-\[\]-z|~\x80-\xff])",
    read="nczarr.formats.notation.frontend:read",
    write="nczarr.formats.notation.backend:write",
    dumped=True,
    resident=True,
)
