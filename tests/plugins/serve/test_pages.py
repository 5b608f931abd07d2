"""Pages of the server: datasets, static files, and what hostile names and values become."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

import nczarr
from nczarr import names
from nczarr.plugins.serve.pages.markup import STATIC_FILES, TEMPLATES
from tests.support.serving import Served, Shelf, serving

HOSTILE = """netcdf h {
dimensions:
  x = 3 ;
  t = 2 ;
variables:
  int x(x) ;
    x:units = "<script>alert(1)</script>" ;
    x:long_name = "\\"><img src=x onerror=alert(1)>" ;
  double t(t) ;
    t:units = "days since 2000-02-28" ;
    t:calendar = "noleap" ;
  int v\\<script\\>(t, x) ;
    v\\<script\\>:note = "</pre></details><script>alert(2)</script>" ;
:title = "<b onload='x'>\u202eevil\u200f & co</b>" ;
:summary = "a <i>summary</i>" ;
:references = "javascript:alert(3)" ;
:license = "https://example.org/l?a=1&b=%22" ;
data:
  x = 10, 20, 30 ;
  t = 0, 1 ;
}
"""


class Elements(HTMLParser):
    """The elements and attributes of a page, and whether each closes."""

    VOID = frozenset(("meta", "link", "img", "br", "input", "image", "path", "line", "rect"))

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words = ""
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data + " "


def inert(page: str) -> Elements:
    """The elements of a page that has no inline script, style or handler, and nothing of other sites."""
    elements = Elements(page)
    for tag, attributes in elements.found:
        assert not [name for name in attributes if name.startswith("on") or name == "style"], (tag, attributes)
        assert tag != "style"
        if tag == "script":
            assert (attributes["src"] or "").startswith("/static/")
        for name in ("src", "href", "action"):
            assert not re.match(r"\s*javascript:", attributes.get(name) or "", re.IGNORECASE)
        if tag in ("img", "link", "image"):
            assert re.match(r"/static/|data:image/png", attributes.get("src") or attributes.get("href") or "")
    return elements


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    root = tmp_path_factory.mktemp("hostile")
    (root / "h.cdl").write_text(HOSTILE, encoding="utf-8")
    name = b"bytes \xff\xfe \xe2\x80\xae<script>.cdl"
    Path(root / name.decode("utf-8", "surrogateescape")).write_text("netcdf t {\n}\n", encoding="utf-8")
    with serving(root) as served:
        yield served


def test_texts_of_datasets_are_text(hostile: Served) -> None:
    page = hostile.get("/browse/h.cdl").text
    elements = inert(page)
    assert "\u202e" not in page
    assert "\u200f" not in page
    assert "<b onload='x'>\\u202eevil\\u200f & co</b>" in elements.words
    assert '"><img src=x onerror=alert(1)>' in elements.words
    links = [attributes["href"] for tag, attributes in elements.found if tag == "a"]
    assert "https://example.org/l?a=1&b=%22" in links
    assert not [each for each in links if "javascript" in (each or "")]


def test_names_that_are_not_unicode(hostile: Served) -> None:
    listed = json.loads(hostile.get("/?format=json").body)
    odd = next(each for each in listed["entries"] if each["name"].startswith("bytes"))
    for page in ("/", odd["links"]["browse"]):
        text = hostile.get(page).text
        inert(text)
        assert "\u202e" not in text
        assert "&lt;script&gt;.cdl" in text


def test_coordinates_are_told(hostile: Served) -> None:
    words = " ".join(inert(hostile.get("/browse/h.cdl").text).words.split())
    assert "2 2000-02-28 2000-03-01 1 day days since 2000-02-28" in words
    told = json.loads(hostile.get("/browse/h.cdl?format=json").body)
    by_path = {each["path"]: each for each in told["coordinates"]}
    assert {name: by_path["/x"][name] for name in ("length", "first", "last", "step")} == {
        "length": 3, "first": "10", "last": "30", "step": "10",
    }  # fmt: skip
    assert (by_path["/t"]["first"], by_path["/t"]["last"]) == ("2000-02-28", "2000-03-01")


PADDED = """netcdf p {
dimensions: t = 2 ; z = 2 ;
variables: double t(t) ; t:units = "days since 2000-02-28\\000\\000" ; t:calendar = "noleap\\000" ;
  float z(z) ; z:positive = "down\\000" ; z:units = "m\\000" ; float v(z, t) ; v:long_name = "a\\000b\\000" ;
:title = "Padded\\000\\000\\000" ;
data: t = 0, 1 ; z = 5, 10 ; v = 1, 2, 3, 4 ;
}
"""


@pytest.mark.long
def test_nuls_at_the_end_of_attributes_are_padding(tmp_path: Path) -> None:
    """Pages and the DAS omit them; our client of DAP4 has them."""
    (tmp_path / "p.cdl").write_text(PADDED, encoding="utf-8")
    with serving(tmp_path) as served:
        elements = inert(served.get("/browse/p.cdl").text)
        told = json.loads(served.get("/view/p.cdl?var=v&format=json").body)
        das = served.get("/dap2/p.cdl.das").text
        with nczarr.open(f"dap4:{served.url}dap4/p.cdl") as remote:
            assert remote.attributes["title"] == "Padded\0\0\0"
    words = " ".join(elements.words.split())
    assert "t 2 2000-02-28 2000-03-01 1 day days since 2000-02-28" in words
    assert "title Padded char, with 3 NULs at the end" in words
    assert ("h1", {}) in elements.found
    assert told["y"]["down"] is True
    assert 'String title "Padded";' in das
    assert 'String units "days since 2000-02-28";' in das
    assert '"/v@long_name: it has NULs inside, where clients may end the text"' in das
    assert '"attributes: NULs at the end of 6 texts"' in das
    assert das.count("\\x00") == 1


def test_every_dataset_has_a_page(served: Served) -> None:
    for path in ("cmip.nc", "groups.nc", "types.nc", "stores/cmip.zarr", "stores/strings.zarr3", "cmip.json",
                 "stores/types.ncs", "stores/cmip.awkd", "station.cdl"):  # fmt: skip
        reply = served.get(f"/browse/{path}")
        assert reply.status == 200, reply.text
        elements = inert(reply.text)
        words = " ".join(elements.words.split())
        assert f'xr.open_zarr("{served.url}zarr3/{path}")' in words
        told = json.loads(served.get(f"/browse/{path}?format=json").body)
        assert told["variable_count"] == len(told["variables"])
        for version, title in (("zarr2", "Zarr v2"), ("zarr3", "Zarr v3")):
            assert (f"What {title} does not hold" in words) == bool(told["losses"][version])
        assert " ".join(names.readable(told["title"], keep="\t\n").split()) in words


def test_each_address_of_a_service_is_shown_once(served: Served) -> None:
    """A dataset's page lists them; the page of a folder, which would repeat them in each row, does not."""
    page = served.get("/browse/cmip.nc").text
    told = json.loads(served.get("/browse/cmip.nc?format=json").body)
    addresses = [told["links"]["zarr2"], told["links"]["zarr3"], *told["services"].values()]
    assert [page.count(f"<code>{each}</code>") for each in addresses] == [1] * len(addresses)
    targets = [attributes["href"] or "" for tag, attributes in inert(page).found if tag == "a"]
    assert len(set(targets)) == len(targets) - 1  # the root is in the head and in the path
    assert told["services"]["dap2"] in targets
    form = served.get(told["services"]["dap2"].removeprefix(served.url.removesuffix("/")))
    assert form.headers["content-type"].startswith("text/html")
    folder = inert(served.get("/").text)
    linked = [attributes["href"] or "" for tag, attributes in folder.found if tag == "a"]
    kinds = {each.split("/")[1].split("?")[0] for each in linked if each.startswith("/")}
    assert kinds == {"", "browse", "catalog", "file"}


class Sections(HTMLParser):
    """Texts of the elements of a page that fold or list something, without the summaries."""

    LISTS = frozenset(("details", "section", "table", "ul", "dl"))

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[tuple[str, list[str]]] = []
        self.heads = 0
        self.texts: list[tuple[str, str]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.heads += tag in ("summary", "h2", "thead")
        if tag in self.LISTS:
            self.open.append((tag, []))

    def handle_endtag(self, tag: str) -> None:
        self.heads -= tag in ("summary", "h2", "thead")
        if tag in self.LISTS:
            kind, words = self.open.pop()
            self.texts.append((kind, " ".join(words).strip()))

    def handle_data(self, data: str) -> None:
        for _, words in self.open if not self.heads else ():
            words.append(data.strip())


def test_nothing_empty_is_shown(shelf: Shelf) -> None:
    members = {
        "empty": "",
        "attributes": ':title = "t" ;',
        "dimensions": "dimensions: a = 5 ;",
        "groups": "group: hollow { } group: outer { group: inner { variables: int v ; } }",
        "plain": 'variables: int v ; double w ; w:units = "m" ; data: v = 5 ; w = 2.5 ;',
        "unwritten": "dimensions: t = UNLIMITED ; n = 3 ; variables: float v(t) ; float w(n) ; float p(n, n) ;",
    }
    for name, text in members.items():
        (shelf.folder / f"{name}.cdl").write_text(f"netcdf d {{ {text} }}", encoding="utf-8")
    paths = [f"/browse/{name}.cdl" for name in members]
    paths += [f"/view/unwritten.cdl?var={name}" for name in "vwp"] + [f"/view/plain.cdl?var={name}" for name in "vw"]
    pages = {path: shelf.get(path).text for path in paths}
    for path, page in pages.items():
        assert [kind for kind, words in Sections(page).texts if not words] == [], path
        words = " ".join(inert(page).words.replace("\N{NO-BREAK SPACE}", " ").split())
        assert (
            re.search(r"(?<![\d.,])0 (variable|attribute|group|dimension|B of values)|\(0\)|No attributes", words)
            is None
        )
    assert "hollow empty" in " ".join(inert(pages["/browse/groups.cdl"]).words.split())
    assert "Statistics" not in pages["/view/plain.cdl?var=v"] + pages["/view/unwritten.cdl?var=v"]
    for name in "wp":  # a picture would have neither a scale nor a value
        page = pages[f"/view/unwritten.cdl?var={name}"]
        assert ("all are missing" in page, 'class="chart' in page) == (True, False)
    assert '<p class="value">2.5 m</p>' in pages["/view/plain.cdl?var=w"]


def test_sizes(served: Served, datasets: Path) -> None:
    told = json.loads(served.get("/browse/cmip.nc?format=json").body)
    assert told["size"] == (datasets / "cmip.nc").stat().st_size
    by_name = {each["name"]: each for each in told["variables"]}
    assert by_name["/tas"]["bytes"] == 2 * 2 * 4 * 4
    assert by_name["/tas"]["stored_bytes"] > 0


def test_static_files(served: Served) -> None:
    for path in sorted(STATIC_FILES.iterdir()):
        reply = served.get(f"/static/{path.name}")
        assert (reply.status, reply.body) == (200, path.read_bytes())
        assert served.get(f"/static/{path.name}", If_None_Match=reply.headers["etag"]).status == 304
    assert served.get("/static/tree.css").headers["content-type"] == "text/css; charset=utf-8"
    for path in (
        "/static",
        "/static/",
        "/static/nothing.js",
        "/static/pages.css/",
        "/static/..%2f__init__.py",
        "/static/.",
    ):
        assert served.get(path).status == 404, path


def test_the_policy_permits_nothing_inline(served: Served) -> None:
    policy = served.get("/").headers["content-security-policy"]
    assert "unsafe" not in policy
    for each in ("default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"):
        assert each in policy


@pytest.mark.long
def test_a_coordinate_with_large_chunks_is_not_read(shelf: Shelf) -> None:
    netcdf = pytest.importorskip("netCDF4")
    with netcdf.Dataset(shelf.folder / "large.nc", "w") as file:
        file.createDimension("x", 4_000_000)
        file.createVariable("x", "f8", ("x",), zlib=True, chunksizes=(4_000_000,))[:3] = 0
        file.createDimension("y", 3_000_000)
        file.createVariable("y", "f8", ("y",), zlib=True, chunksizes=(1000,))[::2_999_999] = [1, 5]
    told = json.loads(shelf.get("/browse/large.nc?format=json").body)
    by_path = {each["path"]: each for each in told["coordinates"]}
    assert by_path["/x"]["step"] == "not read: its chunks are large"
    assert (by_path["/y"]["first"], by_path["/y"]["last"], by_path["/y"]["step"]) == ("1", "5", "")


@pytest.mark.long
def test_templates_escape_everything() -> None:
    """Values in attributes are quoted, and what is safe is computed: paths of SVG, pictures, one constant."""
    templates = {path.name: path.read_text(encoding="utf-8") for path in sorted(TEMPLATES.iterdir())}
    assert len(templates) > 10
    for name, text in templates.items():
        assert not re.search(r"\s[\w-]+=\{\{", text), name
        assert "autoescape" not in text, name
        safe = set(re.findall(r"\{\{ ([^{}]*)\|safe \}\}", text))
        assert text.count("|safe") == len(re.findall(r"\|safe \}\}", text)), name
        assert safe <= {
            "points", "chart.picture", "chart.coast", "chart.bar", 'facts.tree or "<p>The dataset is empty.</p>"'
        }, name  # fmt: skip
        for expression in re.findall(r'(?:href|action|value|src)="\{\{ (.*?) \}\}', text):
            is_number = re.fullmatch(
                r"(side\.chosen\.step|each\.index|value|\"\" if value is none else value)", expression
            )
            assert (
                expression.startswith("url(") or expression.endswith("|attribute") or is_number or "|safe" in expression
            ), (
                name,
                expression,
            )
