"""The CDM Remote form of a dataset, for people."""

from __future__ import annotations

from nczarr import names
from nczarr.select.section_syntax import written
from nczarr.serve.dataset_cache import CachedDataset
from nczarr.serve.pages.markup import CDMREMOTE, page
from nczarr.serve.request import url

MOST_VARIABLES = 2000
"""Maximum variables of the form."""


def form(opened: CachedDataset, location: str) -> str:
    """Return the CDM Remote form of a dataset. `location`: its URL."""
    checked, segments = opened.checked, opened.place.segments
    variables = [
        (
            written(names.split(fqn)),
            f"{checked.variables[fqn].type} ({', '.join(map(str, checked.shapes[fqn]))})",
        )
        for fqn in list(checked.variables)[:MOST_VARIABLES]
    ]
    title, here = f"CDM Remote: {segments[-1]}", url(CDMREMOTE, *segments)
    return page("remote.html", title, segments=segments, location=location, here=here, variables=variables).decode()
