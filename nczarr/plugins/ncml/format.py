"""NcML 2.2: documents that change, join and unite other datasets.

A document names sources of any format, and needs the combination of datasets.

    document ─ elements ─> sources ─ union, joins ─> Unchecked ─ modifications ─> Unchecked

`frontend.py` reads a document, `vocabulary.py` checks its words, `members.py` finds and opens what it names,
`aggregation.py` combines, `modifications.py` changes a tree, `trees.py` renames its nodes and unites trees, `values.py`
reads values. Chunks stay where they are.
"""

from __future__ import annotations

from nczarr.registry import Format, ReadingTraits

FORMAT = Format(
    name="ncml",
    title="NcML: documents that change, join and unite other datasets",
    suffixes=(".ncml",),
    spec="https://docs.unidata.ucar.edu/netcdf-java/current/userguide/annotated_ncml_schema.html",
    detects=r"(?:\xef\xbb\xbf)?\s*(?:<\?(?:[^?]|\?(?!>))*\?>\s*|<!--(?:[^-]|-(?!->))*-->\s*)*"
    r"<(?:\w+:)?netcdf\s[^>]*/namespaces/netcdf/ncml-2\.2",
    read="nczarr.plugins.ncml.frontend:read",
    reading=ReadingTraits(resident=2, only_reader=True, watches="nczarr.plugins.ncml.frontend:list_watched"),
)
