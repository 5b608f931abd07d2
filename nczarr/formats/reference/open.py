"""`reference`: a document or a folder of Parquet references → a store of the data."""

from __future__ import annotations

from nczarr.diagnostics.report import Report
from nczarr.diagnostics.source import Source
from nczarr.formats.reference import lookup, parquet
from nczarr.formats.reference.limits import DEFAULT
from nczarr.options import Options
from nczarr.stores.base import References, Store
from nczarr.stores.reference_policy import Policy, home_of
from nczarr.stores.references import ReferenceStore


def opens(source: Source | Store, report: Report, options: Options) -> ReferenceStore | None:
    """Return the store of a document; None (reported) if invalid. Raises OSError."""
    references: References | None
    limits = DEFAULT._replace(jinja=options.following.jinja, repeated=options.accepts("duplicate-name"))
    if isinstance(source, Source):
        references, name = lookup.opened(source, report, limits), source.name
    else:
        references, name = parquet.opened(source, report, limits), source.path
    if references is None:
        return None
    store = ReferenceStore(references, Policy(home_of(source), options.following), name, options.storage.of("source"))
    before = report.errors
    store.check(report)
    return store if report.errors == before else None
