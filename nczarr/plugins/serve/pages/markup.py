"""Templates of all pages, and the texts that they show.

`templates/` has a file a page. Everything that a template prints becomes text that HTML shows as it is: control
characters, direction marks and invalid UTF-8 become escapes, long texts are cut, `<` and quotes are escaped. Inside of
attributes, which must stay whole, the filter `attribute` stands instead.
"""

from __future__ import annotations

import html
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nczarr import __version__, names
from nczarr.api.brief import brief
from nczarr.arrays.execution.counts import bytes_text
from nczarr.names.plugin_index import ProtocolRow, load_all
from nczarr.plugins.serve.request import url
from nczarr.registry import list_names_with

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

BROWSE, CDMREMOTE, STATIC, VIEW, DOWNLOAD, CATALOG = "browse", "cdmremote", "static", "view", "download", "catalog"
FILE, ERDDAP, CDMRFEATURE = "file", "erddap", "cdmrfeature"
"""First segments of URLs."""

VERSIONS = list_names_with("display.served")
"""Versions of Zarr: names of the formats that are served, and first segments of URLs."""

OPENDAP = DAP2, DAP4 = "dap2", "dap4"
"""First segments of the URLs of datasets by OPeNDAP, to which clients add suffixes."""


@cache
def list_protocols() -> dict[str, ProtocolRow]:
    """Return the protocols that plugins add, by the first segment of their URLs."""
    return {name: row for plugin in load_all() for name, row in plugin.protocols.items()}


LONGEST = 2000
"""Maximum characters of a shown text."""

TEMPLATES, STATIC_FILES = (Path(__file__).parent.parent / name for name in ("templates", "static"))
"""Folders with the templates, and with styles, scripts and other files."""

_URL = re.compile(r"https?://[!-~]{1,500}")


def show(text: str) -> str:
    """Return a name as valid Unicode, for JSON."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def format_count(count: int, what: str) -> str:
    """Return a number with its noun."""
    return f"{count:,}\N{NO-BREAK SPACE}{what}{'' if count == 1 else 's'}"


def plain_text(value: Any, *, absent: str, errors: str = "backslashreplace") -> str:
    """Return a value that is not a number; `absent`: text of NIL; `errors`: treatment of invalid UTF-8."""
    if isinstance(value, bytes):
        return value.decode("utf-8", errors)
    return value if isinstance(value, str) else absent if value is None else brief(value)


def number_text(value: float) -> str:
    """Return a number with up to six significant digits."""
    return f"{value:.6g}".replace("e+0", "e").replace("e+", "e").replace("e-0", "e-")


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    def text(value: Any) -> Any:
        """Return a text that HTML shows as it is, of a bounded length."""
        if isinstance(value, Markup) or not isinstance(value, str):
            return value
        bounded = value[:LONGEST] + "…" if len(value) > LONGEST else value
        return Markup(html.escape(names.readable(bounded, keep="\t\n")))

    def attribute(value: str) -> Markup:
        """Return a whole text as the value of an HTML attribute."""
        return Markup(value if isinstance(value, Markup) else html.escape(show(value)))

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        auto_reload=False,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=text,
    )
    environment.filters |= {"attribute": attribute, "readable": names.readable}
    environment.tests["web_address"] = lambda value: isinstance(value, str) and _URL.fullmatch(value) is not None
    environment.globals |= {
        "url": lambda *segments: Markup(url(*segments)),
        "path": lambda segments: Markup(url(*segments).removeprefix(url(""))),
        "counted": format_count,
        "bytes_text": bytes_text,
        "protocols": list_protocols(),
        "version": __version__,
        "zarr_versions": VERSIONS,
    }
    return environment


def render_template(template: str, **values: Any) -> bytes:
    """Return the document of a template."""
    return _environment().get_template(template).render(values).encode("utf-8", "replace")


def fragment(template: str, **values: Any) -> Markup:
    """Return a part of a page."""
    from markupsafe import Markup

    return Markup(render_template(template, **values).decode())


def page(template: str, title: str, **values: Any) -> bytes:
    """Return a whole HTML page. `scripts`, `styles`: names of static files; each page has `pages.css`."""
    return render_template(template, **{"title": title, "heading": "", "scripts": (), "styles": (), **values})
