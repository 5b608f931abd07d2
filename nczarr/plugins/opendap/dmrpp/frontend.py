"""`read`: DMR++ document → dataset with byte ranges of the target as chunks; no values are read."""

from __future__ import annotations

from nczarr.arrays.sources.source import Parts
from nczarr.ast import Storage
from nczarr.ast.dataset import building
from nczarr.diagnostics.report import Diagnostic, Label, Report, Severity, Source, Span
from nczarr.options import Options, RunOptions
from nczarr.plugins.common.xml_reader import XmlElement, parse
from nczarr.plugins.opendap.common.document_reader import DescribedVariable, DocumentReader
from nczarr.plugins.opendap.common.words import PREFIXES
from nczarr.plugins.opendap.dmrpp.arrays import ArrayReader
from nczarr.plugins.opendap.dmrpp.references import PLACEHOLDER, SUFFIX, DmrppReferences, foreign_kind
from nczarr.semantics.checked import Unchecked
from nczarr.stores import local_paths
from nczarr.stores.reference_policy import ForbiddenTargetError, Policy, home_of
from nczarr.stores.references import ReferenceStore
from nczarr.stores.spool import origin


def read(source: Source, report: Report, options: Options) -> Unchecked | None:
    """Return the dataset of a document, None after an error.

    Reports bad-dmrpp, foreign-target, forbidden-target; unreadable-array and
    foreign-member for omissions.
    """
    policy = Policy(home_of(source), options.reading.following)
    if options.reading.following.target is not None and not _is_hdf5(None, policy, source, report):
        return None
    root = parse(source, report, "bad-dmrpp", PREFIXES)
    if root is None:
        return None
    if root.tag != "Dataset":
        text = f"`{source.name}`: the root element is `{root.tag}`, not a `Dataset` of DAP4"
        report.error("bad-dmrpp", text, Span(source, root.offset, root.offset))
        return None
    url = None if options.reading.following.target is not None else _target(root, source)
    if url is not None and not _is_hdf5(url, policy, source, report):
        return None
    references = DmrppReferences()
    store = ReferenceStore(references, policy, source.name, options.run.storage.of("source"))
    with building():
        old = not root.attributes.get("dmrpp:version")
        reader = _DmrppReader(ArrayReader(store, references, url, old=old), source, report, options.run)
        unchecked = reader.read(root)
    before = report.errors
    store.check(report, options.run.accepts)
    return unchecked if report.errors == before else None


def _target(root: XmlElement, source: Source) -> str:
    """Return the URL of the target; empty if the document has none."""
    url = root.attributes.get("dmrpp:href", "")
    if url != PLACEHOLDER:
        return url
    fetched = origin(source.path)
    name = (fetched[0].partition("?")[0] if fetched else source.name).rpartition("/")[2]
    return name.removesuffix(SUFFIX) if name.endswith(SUFFIX) else ""


def _is_hdf5(url: str | None, policy: Policy, source: Source, report: Report) -> bool:
    """Report foreign-target for an existing local file other than HDF5; return False then."""
    try:
        path = policy.follow(url).path
        kind = None if path is None else foreign_kind(path)
    except (ForbiddenTargetError, OSError):
        return True  # reported where a variable refers to it
    if path is None or kind is None:
        return True
    text = f"`{source.name}` describes `{local_paths.name_of(path)}`, which is {kind}"
    report.error("foreign-target", text, helps=["documents of HDF5 and netCDF-4 files can be read"])
    return False


class _DmrppReader(DocumentReader):
    def __init__(self, arrays: ArrayReader, source: Source, report: Report, run: RunOptions) -> None:
        super().__init__(source, report, run)
        self.arrays = arrays

    def values(self, described: DescribedVariable) -> tuple[Parts, Storage]:
        element, path = described.element, described.path
        parts, storage, unknown_fill = self.arrays.read(described)
        if unknown_fill:
            text = (
                f"chunks of `{path}` are missing, and the document has no fill value for them; they are read as zeros"
            )
            self.report.add(Diagnostic("undefined-fill", Severity.NOTE, text, Label(self.span(element))))
        return parts, _read_storage(described, storage)


def _read_storage(described: DescribedVariable, plain: Storage) -> Storage:
    """Return the storage of a variable, with our notes; HDF5 chunks may be longer than dimensions."""
    if plain.chunks is not None:
        plain = plain.model_copy(update={"chunks": described.chunk_storage(plain.chunks).chunks})
    noted = described.element.attributes.get("nczarr:storage")
    try:
        storage = plain if noted is None else Storage.model_validate_json(noted)
    except ValueError:
        return plain
    if storage.chunks is None:
        return storage
    fits = (
        len(storage.chunks) == len(described.shape) and described.chunk_storage(storage.chunks).chunks == storage.chunks
    )
    return storage if fits else plain
