"""`read`: NcML document → dataset, whose arrays are those of the datasets that it names, and values that it states."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator

from nczarr import names, registry
from nczarr.ast import Dataset
from nczarr.diagnostics.report import HEAD, Report, Source
from nczarr.options import Following, Options
from nczarr.plugins.common.xml_reader import XmlElement, parse
from nczarr.plugins.ncml.aggregation import aggregate
from nczarr.plugins.ncml.format import FORMAT
from nczarr.plugins.ncml.members import (
    DEEPEST,
    AggregatedMember,
    list_members,
    locate,
    location_of,
    read_place,
)
from nczarr.plugins.ncml.modifications import has_changes, modify
from nczarr.plugins.ncml.vocabulary import PREFIXES, NcmlDocument, check_elements
from nczarr.semantics import check
from nczarr.semantics.checked import Checked, Unchecked
from nczarr.stores import local_paths
from nczarr.stores.open import open_source
from nczarr.stores.reference_policy import Policy, home_of
from nczarr.stores.url import is_remote

PLAIN = frozenset({"", "none", "false"})
"""Values of `enhance` that change nothing."""


def read(source: Source, report: Report, options: Options) -> Unchecked | None:
    """Return the dataset of a document, None after an error. Raises OSError.

    Reports bad-ncml, unsupported-ncml, unmatched-ncml, unmatched-removal, ignored-ncml, forbidden-target,
    unreachable-target, and what the combination of datasets reports.
    """
    opened = _open_document(source, report, options)
    if opened is None:
        return None
    root, document = opened
    draft = _read_dataset(root, document)
    if draft is None:
        return None
    dataset = draft.dataset.model_copy(update={"name": names.stem(source.name), "kind": None})
    return Unchecked(dataset, parts=draft.parts, omitted=document.omitted)


def _open_document(source: Source, report: Report, options: Options) -> tuple[XmlElement, NcmlDocument] | None:
    """Return the root of a document; None after an error."""
    root = parse(source, report, "bad-ncml", PREFIXES)
    if root is None:
        return None
    following = options.reading.following
    place = local_paths.real(source.path) if source.path is not None else source.name
    policy = Policy(home_of(source), following)
    behind = following._replace(documents=(*following.documents, place))
    options = options.change(following=behind, storage=policy.limit_token(options.run.storage))
    document = NcmlDocument(source, report, options, policy, Counter(), [])
    return (root, document) if check_elements(root, document) else None


def _read_dataset(element: XmlElement, document: NcmlDocument) -> Unchecked | None:
    """Return the dataset of an element `netcdf`, None after an error."""
    report, location = document.report, location_of(element)
    aggregations = element.all("aggregation")
    if len(aggregations) + (location is not None) > 1:
        text = "a dataset has one location or one aggregation; nest the others in elements `netcdf` of an aggregation"
        report.error("bad-ncml", text, document.span(element))
        return None
    if element.attributes.get("enhance", "").strip().lower() not in PLAIN:
        text = "`enhance` is ignored: packed values stay packed, with the attributes that unpack them"
        report.warning("ignored-ncml", text, document.span(element))
    draft: Unchecked | None = Unchecked(Dataset(name=""))
    if aggregations:
        draft = aggregate(aggregations[0], document, _read_member)
    elif location is not None:
        path = locate(location, element, document)
        checked = None if path is None else read_place(path, location, element, document)
        draft = None if checked is None else Unchecked(checked.dataset, parts=dict(checked.parts))
    if draft is None or not has_changes(element):
        return draft
    return modify(draft, element, document)


def _read_member(member: AggregatedMember, document: NcmlDocument) -> Checked | None:
    """Return one dataset of an aggregation, None after an error."""
    element = member.element
    if member.is_scanned or (not has_changes(element) and member.path is not None and not element.all("aggregation")):
        assert member.path is not None
        return read_place(member.path, member.label, element, document)
    draft = _read_dataset(element, document)
    return None if draft is None else check(draft, document.report)


def list_watched(path: str, following: Following) -> Iterator[str]:
    """Yield the local files and folders that a document may name, and those of documents among them. Raises OSError."""
    pending, seen = [path], set[str]()
    while pending and len(seen) < DEEPEST:
        place = pending.pop()
        seen.add(place)
        report = Report()
        opened = _open_document(open_source(place), report, Options.of(following=following))
        for element in [] if opened is None else _descendants(opened[0]):
            assert opened is not None
            for found in _list_named(element, opened[1]):
                yield found
                if os.path.isfile(found) and found not in seen and _is_document(found):
                    pending.append(found)


def _descendants(element: XmlElement) -> Iterator[XmlElement]:
    yield element
    for child in element.children:
        yield from _descendants(child)


def _list_named(element: XmlElement, document: NcmlDocument) -> Iterator[str]:
    """Yield the local places that an element itself names."""
    if element.tag == "aggregation":
        yield from (one.path for one in list_members(element, document) if one.path and not is_remote(one.path))
    elif element.tag in ("netcdf", "scan") and (location := location_of(element)) is not None:
        place = locate(location, element, document)
        if place is not None and not is_remote(place):
            yield place


def _is_document(path: str) -> bool:
    with open(path, "rb") as file:
        form = registry.detect(path, file.read(HEAD))
    return form is not None and form.name == FORMAT.name
