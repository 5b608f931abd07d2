"""Lists of the datasets below the root as tables: all, or those in which the words of a search occur."""

from __future__ import annotations

import time
from collections.abc import Sequence

from nczarr.plugins.serve.answers import HttpAnswer
from nczarr.plugins.serve.context import Answer, HeavyWork, ServerContext
from nczarr.plugins.serve.pages.markup import BROWSE, ERDDAP
from nczarr.plugins.serve.protocols.erddap.query import NO_RESULTS
from nczarr.plugins.serve.protocols.erddap.tables import Cell, TableColumn, TextTable, find_table_format
from nczarr.plugins.serve.refusals import BUSY, RETRY, RefusedRequestError
from nczarr.plugins.serve.request import Request, url
from nczarr.plugins.serve.search_index import MOST

PATIENCE = 5.0
"""Seconds that a list of datasets waits for the first look at them."""

LISTED = ("griddap", "Subset", "tabledap", "Make A Graph", "wms", "files", "Title", "Summary", "FGDC", "ISO 19115",
          "Info", "Background Info", "RSS", "Email", "Institution", "Dataset ID")  # fmt: skip
"""Columns of a table of datasets."""

UNKNOWN_FILTERS = ("mintime", "maxtime", "minlat", "maxlat", "minlon", "maxlon", "institution", "ioos_category",
                   "cdm_data_type", "keywords")  # fmt: skip
"""Parameters of the advanced search that the index of names cannot answer."""


def list_datasets(context: ServerContext, asked: Request, what: str) -> Answer:
    """Answer by a table of datasets: all, or those in which the words of a search occur."""
    query = asked.query
    if what == "html":
        return HttpAnswer(status=303, headers=(("Location", url(BROWSE)),))
    form = find_table_format(what)
    named = {name: query.get(name, "").strip() for name in UNKNOWN_FILTERS}
    ignored = [name for name, text in named.items() if text not in ("", "(ANY)")]
    if ignored:
        text = f"the search knows names, titles, `standard_name` and `long_name`, not `{ignored[0]}`"
        raise RefusedRequestError(400, text)
    words = query.get("searchfor", "").replace('"', " ").split()
    for name in ("standard_name", "variablename", "long_name"):
        if query.get(name, "(ANY)") not in ("", "(ANY)"):
            words.append(query[name])
    wanted = " ".join(word for word in words if not word.startswith("-") and word != "None")
    unwanted = [word[1:].casefold() for word in words if word.startswith("-")]
    is_elsewhere = query.get("protocol", "griddap").lower() not in ("griddap", "(any)", "")

    def work() -> HttpAnswer:
        end = time.monotonic() + PATIENCE
        hits = context.searched.search(wanted, (), MOST)
        while not hits.complete and time.monotonic() < end:
            time.sleep(0.05)
            hits = context.searched.search(wanted, (), MOST)
        if not hits.complete:
            raise RefusedRequestError(BUSY, "the list of datasets is being made: ask again", RETRY)
        chosen = [hit for hit in hits.found if not any(word in hit.text for word in unwanted)] * (not is_elsewhere)
        page, size = (_count(query.get(name), default) for name, default in (("page", 1), ("itemsperpage", 1000)))
        part = chosen[(page - 1) * size : page * size]
        if not part and wanted:
            raise RefusedRequestError(404, f"{NO_RESULTS} (no dataset has all of these words)")
        root = asked.place + url(ERDDAP)
        rows: list[Sequence[Cell]] = []
        for hit in part:
            name = "/".join(hit.segments)
            cells = {
                "griddap": asked.place + url(ERDDAP, "griddap", *hit.segments),
                "Title": hit.title or name,
                "Info": f"{root}/info/{url(*hit.segments).removeprefix(url(''))}/index.{what}",
                "Background Info": asked.place + url(BROWSE, *hit.segments),
                "Dataset ID": name,
            }
            rows.append([cells.get(title, "") for title in LISTED])
        table = TextTable(tuple(TableColumn(title, "String") for title in LISTED), [rows])
        return HttpAnswer(b"".join(form.write(table)), form.kind)

    return HeavyWork(work)


def _count(text: str | None, default: int) -> int:
    """Return a number from 1 on. Raises RefusedRequestError."""
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text)):
        raise RefusedRequestError(400, "`page` and `itemsPerPage` are numbers from 1 on")
    return int(text)
