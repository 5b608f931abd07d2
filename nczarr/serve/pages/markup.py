"""Elements that all pages share: the frame, links, tables, escaped texts."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence

from nczarr import __version__, names
from nczarr.serve.request import url

BROWSE, CDMREMOTE, STATIC, VIEW, DOWNLOAD, CATALOG = "browse", "cdmremote", "static", "view", "download", "catalog"
FILE = "file"
"""First segments of URLs."""

OPENDAP = ("dap2", "dap4")
"""First segments of the URLs of datasets by OPeNDAP, to which clients add suffixes."""

LONGEST = 2000
"""Maximum characters of a shown text."""

_URL = re.compile(r"https?://[!-~]{1,500}")


def shown(text: str) -> str:
    """Return a name as valid Unicode, for JSON."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def text(value: str) -> str:
    """Return a text that HTML shows as it is, of a bounded length.

    Control characters, direction marks and invalid UTF-8 become escapes.
    """
    if len(value) > LONGEST:
        value = value[:LONGEST] + "…"
    return html.escape(names.readable(value, keep="\t\n"), quote=True)


def attribute(value: str) -> str:
    """Return a whole text as the value of an HTML attribute."""
    return html.escape(shown(value), quote=True)


def link(place: str, words: str, label: str = "", kind: str = "") -> str:
    """Return a link. `label`: text for screen readers; `kind`: CSS class."""
    more = f' aria-label="{text(label)}"' if label else ""
    more += f' class="{kind}"' if kind else ""
    return f'<a href="{html.escape(place)}"{more}>{text(words)}</a>'


def linked(value: str) -> str:
    """Return a text; a web address alone becomes a link."""
    if _URL.fullmatch(value):
        return f'<a href="{attribute(value)}" rel="noopener noreferrer">{text(value)}</a>'
    return text(value)


def page(
    title: str,
    body: Iterable[str],
    *,
    scripts: Sequence[str] = (),
    styles: Sequence[str] = (),
    heading: str | None = None,
) -> str:
    """Return a whole HTML page. `scripts`, `styles`: names of static files; each page has `pages.css`."""
    home, icon = url(""), url(STATIC, "icon.svg")
    sheets = "".join(f'<link rel="stylesheet" href="{url(STATIC, name)}">' for name in (*styles, "pages.css"))
    loaded = "".join(f'<script src="{url(STATIC, name)}" defer></script>' for name in scripts)
    return "".join((
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{text(title)}</title>',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f'<meta name="color-scheme" content="light dark"><link rel="icon" href="{icon}" '
        f'type="image/svg+xml">{sheets}{loaded}</head>\n<body>',
        '<a class="skip" href="#main">Skip to the content</a>\n',
        f'<header class="top"><a class="brand" href="{home}"><img src="{icon}" alt="" width="22" height="22">'
        "nczarr</a></header>\n",
        f'<main id="main">\n<h1>{text(title if heading is None else heading)}</h1>\n',
        *body,
        f'</main>\n<footer><p>Served by nczarr {text(__version__)}, read-only.</p></footer></body></html>\n',
    ))  # fmt: skip


def crumbs(segments: Sequence[str], *, last: str = "") -> str:
    """Return the links from the root to a place. `last`: name of a page below it."""
    found = [link(url(""), "Datasets")]
    found += [link(url(BROWSE, *segments[:number]), segment) for number, segment in enumerate(segments, 1)]
    if last:
        found.append(f'<span aria-current="page">{text(last)}</span>')
    else:
        found[-1] = f'<span aria-current="page">{text(segments[-1] if segments else "Datasets")}</span>'
    items = "".join(f"<li>{each}</li>" for each in found)
    return f'<nav aria-label="Path" class="crumbs"><ol>{items}</ol></nav>\n'


def table(titles: Iterable[str], rows: Iterable[str], *, label: str, kind: str = "") -> str:
    """Return a table that scrolls if it is too wide.

    `titles`: texts or HTML cells of the head; `label`: name for screen readers.
    """
    head = "".join(title if title.startswith("<th") else f'<th scope="col">{title}</th>' for title in titles)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{text(label)}"><table class="{kind}">'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{''.join(rows)}</tbody></table></div>\n"
    )


def counted(count: int, what: str) -> str:
    """Return a number with its noun."""
    return f"{count:,}\N{NO-BREAK SPACE}{what}{'' if count == 1 else 's'}"


def number_text(value: float) -> str:
    """Return a number with up to six significant digits."""
    return f"{value:.6g}"
