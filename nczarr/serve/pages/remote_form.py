"""The CDM Remote form of a dataset, for people."""

from __future__ import annotations

import html
from collections.abc import Iterator

from nczarr import names
from nczarr.select.section_syntax import written
from nczarr.serve.dataset_cache import CachedDataset
from nczarr.serve.pages.markup import CDMREMOTE, attribute, crumbs, link, page, text
from nczarr.serve.request import url

MOST_VARIABLES = 2000
"""Maximum variables of the form."""


def form(opened: CachedDataset, location: str) -> str:
    """Return the CDM Remote form of a dataset."""
    return page(f"CDM Remote: {opened.place.segments[-1]}", _form(opened, location))


def _form(opened: CachedDataset, location: str) -> Iterator[str]:
    checked = opened.checked
    yield crumbs(opened.place.segments, last="CDM Remote")
    here = url(CDMREMOTE, *opened.place.segments)
    yield f"<p>Endpoint: <code>{text(location)}</code></p>\n<ul>\n"
    for what in ("header", "CDL", "NcML", "capabilities"):
        yield f"<li>{link(f'{here}?req={what}', what)}</li>\n"
    yield f'</ul>\n<form action="{html.escape(here)}" method="get"><input type="hidden" name="req" value="data">\n'
    yield '<p><label for="var">Sections, with ; between them, as <code>temp(0:9:2, :, 5)</code></label><br>\n'
    yield '<input id="var" name="var" list="variables" size="60" required></p>\n<datalist id="variables">\n'
    variables = list(checked.variables)[:MOST_VARIABLES]
    yield from (f'<option value="{attribute(written(names.split(fqn)))}"></option>\n' for fqn in variables)
    yield '</datalist>\n<p><label for="deflate">Deflate</label> <select id="deflate" name="deflate">'
    yield '<option value="">no</option>' + "".join(f"<option>{level}</option>" for level in range(1, 10))
    yield '</select> <button type="submit">Data</button></p></form>\n<h2>Variables</h2>\n<ul>\n'
    for fqn in variables:
        lengths = ", ".join(map(str, checked.shapes[fqn]))
        name, type_name = text(written(names.split(fqn))), text(checked.variables[fqn].type)
        yield f"<li><code>{name}</code> {type_name} ({lengths})</li>\n"
    yield "</ul>\n"
