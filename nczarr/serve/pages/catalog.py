"""THREDDS catalogs of folders, for siphon, Panoply and other clients.

Source: "Dataset Inventory Catalog Specification, version 1.0" (Unidata).
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

from nczarr import names
from nczarr.serve.pages.folder import FolderPage, date_text
from nczarr.serve.pages.markup import CATALOG, CDMREMOTE, FILE, OPENDAP
from nczarr.serve.request import url

DOCUMENT = "catalog.xml"
"""Last segment of a catalog's URL."""

SERVICES = {"dap2": "OPENDAP", "dap4": "DAP4", CDMREMOTE: "CdmRemote"}
"""Types of services in catalogs by protocol."""

_XLINK = "http://www.w3.org/1999/xlink"
_CATALOG = "http://www.unidata.ucar.edu/namespaces/thredds/InvCatalog/v1.0"


def catalog(listing: FolderPage) -> str:
    """Return the catalog of a folder: datasets, references to catalogs of folders, and to further pages."""
    return "".join(_catalog(listing))


def _catalog(listing: FolderPage) -> Iterator[str]:
    name = names.readable(listing.folder.name) or "Datasets"
    yield f'<?xml version="1.0" encoding="UTF-8"?>\n<catalog xmlns="{_CATALOG}" xmlns:xlink="{_XLINK}" '
    yield f'name={quoteattr(name)} version="1.2">\n  <service name="all" serviceType="Compound" base="">\n'
    for kind in (*OPENDAP, CDMREMOTE):
        yield f'    <service name="{kind}" serviceType="{SERVICES[kind]}" base="{url(kind)}/" />\n'
    yield f'    <service name="{FILE}" serviceType="HTTPServer" base="{url(FILE)}/" />\n  </service>\n'
    yield '  <service name="stores" serviceType="Compound" base="">\n'
    for kind in (*OPENDAP, CDMREMOTE):
        yield f'    <service name="{kind}-stores" serviceType="{SERVICES[kind]}" base="{url(kind)}/" />\n'
    yield f"  </service>\n  <dataset name={quoteattr(name)} ID={quoteattr(_path(listing.folder.segments) or '/')}>\n"
    yield '    <metadata inherited="true"><serviceName>all</serviceName></metadata>\n'
    for entry in listing.entries:
        own = quoteattr(names.readable(entry.place.segments[-1]))
        if entry.place.folder:
            place = quoteattr(url(CATALOG, *entry.place.segments) + f"/{DOCUMENT}")
            yield f'    <catalogRef xlink:href={place} xlink:title={own} name="" />\n'
            continue
        path = quoteattr(_path(entry.place.segments))
        yield f"    <dataset name={own} ID={path} urlPath={path}>"
        if entry.place.store:  # a folder is no file to get
            yield "<serviceName>stores</serviceName>"
        if entry.size is not None:
            yield f'<dataSize units="bytes">{entry.size}</dataSize>'
        if entry.modified is not None:
            yield f'<date type="modified">{escape(date_text(entry.modified))}</date>'
        yield "</dataset>\n"
    if listing.page < listing.pages:
        here = url(CATALOG, *listing.folder.segments).rstrip("/") + f"/{DOCUMENT}?page={listing.page + 1}"
        title = quoteattr(f"page {listing.page + 1} of {listing.pages}")
        yield f'    <catalogRef xlink:href={quoteattr(here)} xlink:title={title} name="" />\n'
    yield "  </dataset>\n</catalog>\n"


def _path(segments: tuple[str, ...]) -> str:
    """Return a path below the base of a service, in URL form."""
    return "/".join(quote(each.encode("utf-8", "surrogateescape"), safe="") for each in segments)
