"""What a client may try: to leave the root, to say more than a request, to ask for more than there is."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from tests.support.serving import Served, serving

OUT = [
    "/zarr2/../outside0/secret.cdl/.zgroup",
    "/zarr2/%2e%2e/outside0/secret.cdl/.zgroup",
    "/zarr2/..%2foutside0/secret.cdl/.zgroup",
    "/zarr2/%2e%2e%2f%2e%2e%2fetc/passwd",
    "/zarr2/%252e%252e/outside0/secret.cdl/.zgroup",
    "/zarr2/..%5coutside0%5csecret.cdl/.zgroup",
    "/zarr2/..\\outside0\\secret.cdl/.zgroup",
    "/zarr2/%c0%ae%c0%ae/outside0/secret.cdl/.zgroup",
    "/zarr2/stores/../../outside0/secret.cdl/.zgroup",
    "/zarr2/cmip.nc/../../outside0/secret.cdl/.zgroup",
    "/zarr2//etc/passwd",
    "/zarr2/%2fetc%2fpasswd",
    "/zarr2//../../../../../../etc/passwd",
    "/zarr2/leads-out/secret.cdl/.zgroup",
    "/zarr2/leads-out.cdl/.zgroup",
    "/zarr2/to-hidden.cdl/.zgroup",
    "/zarr2/circle/.zgroup",
    "/zarr2/circle/circle/a/.zgroup",
    "/zarr2/.hidden.cdl/.zgroup",
    "/zarr2/.git/a.cdl/.zgroup",
    "/zarr2/%2egit/a.cdl/.zgroup",
    "/zarr2/x.nc.partial-01234567/.zgroup",
    "/zarr2/cmip.nc%00/.zgroup",
    "/zarr2/cmip.nc%00.cdl/.zgroup",
    "/zarr2/./cmip.nc/.zgroup",
    "/zarr2/stores/./cmip.zarr/.zgroup",
    "/zarr2/stores/cmip.zarr/%2e%2e/%2e%2e/station.cdl",
    "/zarr2/C:%5cwindows/.zgroup",
    "/zarr2/" + "a" * 300 + "/.zgroup",
    "/zarr2/" + "a/" * 2000,
    "/browse/..",
    "/browse/%2e%2e/",
    "/browse/leads-out",
    "/browse/.git",
    "/browse//",
    "/cdmremote/leads-out.cdl?req=CDL",
    "/cdmremote/..%2f..%2fetc%2fpasswd?req=CDL",
    "/cdmremote/../outside0/secret.cdl?req=CDL",
    "/cdmremote/stores?req=CDL",
    "/cdmremote/cmip.nc/tas?req=CDL",
    "/dap2/leads-out.cdl.dds",
    "/dap2/..%2f..%2fetc%2fpasswd.dods",
    "/dap2/../outside0/secret.cdl.das",
    "/dap2/.hidden.cdl.dds",
    "/dap2/stores.dds",
    "/dap2/cmip.nc/tas.dds",
    "/dap2/cmip.nc%00.dds",
    "/dap2/.dds",
    "/dap2/",
    "/dap2",
    "/dap4/leads-out.cdl.dmr",
    "/dap4/..%2f..%2fetc%2fpasswd.dap",
    "/dap4/../outside0/secret.cdl.dmr",
    "/dap4/.hidden.cdl.dmr",
    "/dap4/cmip.nc/tas.dap",
    "/dap4",
    "/dap2/cmip.nc.exe",
    "/dap2/notes.txt.dds",
    "/zarr2/notes.txt/.zgroup",
    "/static/../../etc/passwd",
    "/etc/passwd",
    "/favicon.ico",
]


@pytest.mark.parametrize("path", OUT)
def test_nothing_leads_out_of_the_root(path: str, served: Served) -> None:
    for first in ("zarr2", "zarr3", "view", "download", "browse", "catalog", "static"):
        way = path.replace("zarr2", first, 1)
        reply = served.get(way)
        assert reply.status == 404, way
        assert b"kept_apart" not in reply.body
        assert b"root:" not in reply.body


@pytest.mark.parametrize(
    ("target", "host", "status"),
    [
        ("http://127.0.0.1/zarr2/cmip.nc/.zgroup", "localhost", 200),
        ("HTTP://localhost:80/zarr2/cmip.nc/.zgroup?a=http://b/", "localhost", 200),
        ("http://localhost", "localhost", 200),
        ("http://localhost?a", "example.org", 200),
        ("http://localhost/", "example.org", 200),
        ("http://example.org/", "localhost", 403),
        ("http://example.org", "localhost", 403),
        ("http://localhost/zarr2/../outside0/secret.cdl/.zgroup", "localhost", 404),
        ("http://me@localhost/", "localhost", 400),
        ("http:///", "localhost", 400),
        ("ftp://localhost/", "localhost", 400),
        ("*", "localhost", 400),
        ("cmip.nc", "localhost", 400),
    ],
)
def test_targets_that_name_the_server(target: str, host: str, status: int, served: Served) -> None:
    """`GET http://host/path`: the host of the target counts, whatever the header says (RFC 9112 §3.2.2)."""
    found = served.raw(f"GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
    assert int(found.split(b" ", 2)[1]) == status
    assert b"kept_apart" not in found


def test_references_do_not_leave_the_root(datasets: Path, served: Served) -> None:
    (datasets / "web.json").touch()  # a document that is refused is whole, however new
    for name in ("out.json", "web.json"):
        for path in (
            f"/zarr2/{name}/.zgroup",
            f"/cdmremote/{name}?req=CDL",
            f"/browse/{name}",
            f"/dap2/{name}.dds",
            f"/dap4/{name}.dmr",
            f"/view/{name}?var=v",
            f"/download/{name}?var=v&format=cdl",
        ):
            reply = served.get(path)
            assert reply.status == 403, path
            assert "forbidden-target" in reply.text
            assert reply.text.count("forbidden-target") == reply.text.count("--source-root") == 1
    assert served.get("/zarr2/cmip.json/tas/0.0.0").status == 200


@pytest.mark.slow
def test_hdf5_files_do_not_lead_out_of_the_root(
    tmp_path: Path, datasets: Path, peer: Callable[[str], ModuleType]
) -> None:
    """External links, external storage and virtual datasets, through one another as well."""
    h5py, numpy = peer("h5py"), peer("numpy")
    outside, root = tmp_path / "outside", tmp_path / "root"
    outside.mkdir()
    root.mkdir()
    secret = numpy.full(4, 0x6B657074, "<i4")
    (outside / "raw").write_bytes(secret.tobytes())
    (root / "raw").write_bytes(secret.tobytes())
    for folder in (outside, root):
        with h5py.File(folder / "data.h5", "w") as file:
            file["v"] = secret
    targets = {
        "out": str(outside / "data.h5"),
        "up": "../outside/data.h5",
        "in": "data.h5",
        "own": str(root / "data.h5"),
    }
    for name, target in targets.items():
        with h5py.File(root / f"link-{name}.nc", "w") as file:
            file.create_group("deep").create_group("deeper")["l"] = h5py.ExternalLink(target, "/v")
        with h5py.File(root / f"virtual-{name}.nc", "w") as file:
            layout = h5py.VirtualLayout((4,), "<i4")
            layout[:] = h5py.VirtualSource(target, "v", (4,))
            file.create_virtual_dataset("l", layout)
    for name, raw in {"out": outside / "raw", "own": root / "raw"}.items():
        with h5py.File(root / f"raw-{name}.nc", "w") as file:
            file.create_dataset("l", (4,), "<i4", external=[(str(raw), 0, 16)])
    with h5py.File(root / "link-link.nc", "w") as file:
        file["l"] = h5py.ExternalLink("link-out.nc", "/deep/deeper/l")
    with h5py.File(root / "circle.nc", "w") as file:
        file["l"] = h5py.ExternalLink("circle.nc", "/v")
    (root / "to-outside").symlink_to(outside)
    with h5py.File(root / "link-by-symlink.nc", "w") as file:
        file["l"] = h5py.ExternalLink("to-outside/data.h5", "/v")
    with serving(root) as served:
        for path in sorted(root.glob("*.nc")):
            refused = any(each in path.name for each in ("-out", "-up", "link-link", "by-symlink"))
            for way in (
                f"/zarr2/{path.name}/.zgroup",
                f"/zarr2/{path.name}/l/0",
                f"/cdmremote/{path.name}?req=data&var=l",
                f"/dap2/{path.name}.dods",
                f"/dap4/{path.name}.dap",
                f"/browse/{path.name}",
                f"/download/{path.name}?format=cdl",
            ):
                reply = served.get(way)
                assert (reply.status == 403) == refused, (way, reply)
                assert (b"`nczarr serve --source-root PLACE` allows it" in reply.body) == refused
                assert not (refused and b"tpek" in reply.body)


@pytest.mark.slow
def test_references_go_where_the_caller_allows(datasets: Path) -> None:
    outside = (datasets / "leads-out").resolve()
    with serving(datasets, "--source-root", str(outside)) as found:
        assert found.get("/cdmremote/out.json?req=CDL").status != 403
        assert found.get("/cdmremote/web.json?req=CDL").status == 403


def test_methods(served: Served) -> None:
    for method in ("POST", "PUT", "DELETE", "PATCH", "TRACE", "PROPFIND", "get", "OPTIONS"):
        reply = served.get("/zarr2/cmip.nc/.zgroup", method)
        assert reply.status == 405, method
        assert reply.headers["allow"] == "GET, HEAD"
    preflight = served.get("/zarr2/cmip.nc/.zgroup", "OPTIONS", Origin="http://a", Access_Control_Request_Method="GET")
    assert (preflight.status, preflight.headers["access-control-allow-methods"]) == (204, "GET, HEAD")
    assert served.raw(b"CONNECT a:80 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").split(b" ")[1] in (
        b"400",
        b"405",
    )


def test_a_body_is_not_read(served: Served) -> None:
    """The whole answer comes although the body does not."""
    told = b"GET /zarr2/cmip.nc/.zgroup HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\n"
    assert served.first_answer(told)[0] == 200
    chunked = (
        b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        + b"4\r\naaaa\r\n" * 1000
        + b"0\r\n\r\n"
    )
    assert served.first_answer(chunked)[0] == 405


def test_requests_that_are_none(served: Served) -> None:
    head = b"GET /zarr2/cmip.nc/.zgroup HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    for data in (
        head + b"X: " + b"a" * 100_000 + b"\r\n\r\n",
        head + b"X: a\r\n" * 10_000 + b"\r\n",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        b"\0" * 1000 + b"\r\n\r\n",
        b"GET / HTTP/x\r\nHost: localhost\r\n\r\n",
        head + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
        head + b"Content-Length: -1\r\n\r\n",
        head + b"a b: c\r\n\r\n",
        b"GET /\r\n X HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00" * 10 + b"\r\n\r\n",
    ):
        found = served.raw(data, 5)
        assert found == b"" or found.split(b" ", 2)[1] in (b"400", b"414", b"431"), data[:60]
        assert b"Traceback" not in found
    assert served.get("/zarr2/cmip.nc/.zgroup").status == 200


@pytest.mark.parametrize(
    "target",
    ["/dap2/cmip.nc.dods?tas", "/dap4/cmip.nc.dap?dap4.ce=/tas", "/view/cmip.nc?var=tas",
     "/download/cmip.nc?var=tas&format=csv", "/catalog/catalog.xml"],
)  # fmt: skip
def test_requests_that_are_cut(target: str, served: Served) -> None:
    """Any part of a request: a refusal, or no answer."""
    whole = f"GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()
    for end in range(1, len(whole) - 1):
        with socket.create_connection((served.host, served.port), timeout=20) as line:
            line.sendall(whole[:end])
            line.shutdown(socket.SHUT_WR)
            found = b"".join(iter(lambda: line.recv(1 << 16), b""))
        assert found == b"" or found.split(b" ", 2)[1] == b"400", whole[:end]
    assert served.raw(whole).split(b" ", 2)[1] == b"200"


def test_a_client_that_sends_nothing_more_takes_its_answers(served: Served) -> None:
    asked = b"GET /zarr2/cmip.nc/.zgroup HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with socket.create_connection((served.host, served.port), timeout=20) as line:
        line.sendall(2 * asked + asked[:20])
        line.shutdown(socket.SHUT_WR)
        found = b"".join(iter(lambda: line.recv(1 << 16), b""))
    assert found.count(b"HTTP/1.1 200") == 2
    assert found.endswith(served.get("/zarr2/cmip.nc/.zgroup").body)


def test_long_paths_and_queries(served: Served) -> None:
    assert served.get("/" + "a" * 9000).status == 414
    assert served.get("/cdmremote/cmip.nc?req=data&var=" + "a" * 9000).status == 414
    assert served.get("/cdmremote/cmip.nc?" + "&".join(f"a{n}=1" for n in range(100))).status == 400


@pytest.mark.parametrize(
    "query",
    ["req=nothing", "var=tas", "req=data", "req=data&var=", "req=data&var=nothing", "req=data&var=tas(", "req=",
     "req=data&var=tas(0)", "req=data&var=tas(0,0,9)", "req=data&var=tas(0:1:0,:,:)", "req=data&var=tas(1:0,:,:)",
     "req=data&var=tas(-1,0,0)", "req=data&var=tas&deflate=10", "req=data&var=tas&deflate=x", "req=data&var=..%2Ftas",
     "req=data&var=tas(99999999999999999999,0,0)", "req=data&var=tas(0:18446744073709551615,:,:)",
     "req=data&var=%00", "req=data&var=%FF%FE", "req=data&var=" + "(" * 3000, "req=data&var=" + ";" * 3000],
)  # fmt: skip
def test_questions_that_have_no_answer(query: str, served: Served) -> None:
    reply = served.get(f"/cdmremote/cmip.nc?{query}")
    assert reply.status == 400, reply.text
    assert reply.headers["content-type"] == "text/plain; charset=utf-8"
    assert reply.text.strip()
    assert "Traceback" not in reply.text


@pytest.mark.parametrize(
    "path",
    ["/view/cmip.nc?var=nothing", "/view/cmip.nc?var=tas&x=nothing", "/view/cmip.nc?var=tas&format=exe",
     "/download/cmip.nc?var=nothing", "/download/cmip.nc?var=tas&format=exe", "/download/cmip.nc?var=" + "(" * 3000,
     "/download/cmip.nc?var=tas(99999999999999999999,0,0)", "/view/cmip.nc?var=%FF%FE", "/view/cmip.nc?var=%00"],
)  # fmt: skip
def test_parts_that_do_not_exist(path: str, served: Served) -> None:
    reply = served.get(path)
    assert reply.status in (400, 404), reply.text
    assert reply.text.strip()
    assert "Traceback" not in reply.text
    page = served.get(path, Accept="text/html")
    assert (page.status, page.headers["content-type"]) == (reply.status, "text/html; charset=utf-8")


def test_a_dataset_that_is_in_error_says_so_without_its_place(datasets: Path, served: Served) -> None:
    for path in (
        "/zarr2/broken.cdl/.zgroup", "/cdmremote/broken.cdl?req=header", "/browse/broken.cdl", "/dap2/broken.cdl.dds",
        "/dap4/broken.cdl.dmr", "/view/broken.cdl?var=v", "/download/broken.cdl?var=v",
    ):  # fmt: skip
        reply = served.get(path)
        assert (reply.status, "undefined-dimension" in reply.text) == (422, True)
        assert str(datasets) not in reply.text


def test_names_are_text_in_pages(served: Served) -> None:
    page = served.get("/").text
    assert "<b>" not in page
    assert "odd &amp;&lt;b&gt;&quot;&#x27; ümlaut.cdl" in page
    listed = json.loads(served.get("/?format=json").body)
    odd = next(each for each in listed["entries"] if each["name"].startswith("odd"))
    for link in odd["links"].values():
        assert link.isascii()
        reply = served.get(link)
        assert reply.status == 200
        assert b"<b>" not in reply.body
    asked = served.get("/cdmremote/cmip.nc?req=form", Host='a"><script>alert(1)</script>')
    assert b"<script>" not in asked.body


def test_what_is_listed(served: Served) -> None:
    listed = json.loads(served.get("/", Accept="application/json").body)
    found = {each["name"]: each for each in listed["entries"]}
    assert set(found) == {
        "cmip.nc", "groups.nc", "types.nc", "stores", "cmip.json", "station.cdl", "odd &<b>\"' ümlaut.cdl",
        "broken.cdl", "leads-in.cdl", "out.json", "web.json",
    }  # fmt: skip
    assert found["cmip.nc"]["format"] == "netcdf4"
    assert found["stores"]["kind"] == "folder"
    inner = json.loads(served.get("/browse/stores?format=json").body)
    assert {each["name"]: each["format"] for each in inner["entries"]} == {
        "cmip.zarr": "nczarr", "groups.zarr.zip": "nczarr", "strings.zarr3": "zarr3", "cmip.awkd": "awkward0",
        "draft": "zarr3-2019", "types.ncs": "ncstream", "types.nczarr3": "nczarr3",
    }  # fmt: skip


@pytest.mark.slow
def test_large_folders_are_paged(tmp_path: Path, datasets: Path) -> None:
    for number in range(450):
        (tmp_path / f"d{number:04}.cdl").write_text("netcdf t {\n}\n", encoding="utf-8")
    with serving(tmp_path) as served:
        names: list[str] = []
        link = "/?format=json"
        while link:
            told = json.loads(served.get(link).body)
            names += [each["name"] for each in told["entries"]]
            link = told["next"]
        assert names == [f"d{number:04}.cdl" for number in range(450)]
        assert "page 2 of 3" in served.get("/?page=2").text
        for page in ("0", "4", "x", "-1", "9" * 30):
            assert served.get(f"/?page={page}").status == 404


@pytest.mark.slow
def test_origins(datasets: Path) -> None:
    with serving(datasets, "--origin", "https://a.org") as served:
        told = served.get("/zarr2/cmip.nc/.zgroup", Origin="https://a.org")
        assert told.headers["access-control-allow-origin"] == "https://a.org"
        assert "access-control-allow-origin" not in served.get("/", Origin="https://b.org").headers
        assert served.get("/").headers["vary"].split(", ")[-1] == "Origin"
        assert served.get("/", Host="a.org").status == 200
        assert served.get("/", Host="b.org").status == 403
    with serving(datasets, "--origin", "none") as served:
        assert "access-control-allow-origin" not in served.get("/", Origin="http://localhost:3000").headers
    with serving(datasets, "--origin", "*") as served:
        assert served.get("/", Origin="https://b.org", Host="b.org").headers["access-control-allow-origin"] == "*"


@pytest.mark.parametrize(
    "origin", ["http://localhost:3000", "http://127.0.0.1", "http://[::1]:8", "https://x.localhost"]
)
def test_pages_of_this_machine_may_read_answers(served: Served, origin: str) -> None:
    assert served.get("/", Origin=origin).headers["access-control-allow-origin"] == origin


@pytest.mark.parametrize(
    "origin",
    ["https://a.org", "null", "http://localhost.a.org", "http://127.0.0.1.a.org", "http://[", "http://128.0.0.1"],
)
def test_pages_of_other_sites_may_not(served: Served, origin: str) -> None:
    assert "access-control-allow-origin" not in served.get("/", Origin=origin).headers


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("a.org", 403),
        ("a.org:80", 403),
        ("localhost.a.org", 403),
        ("localhost:1", 200),
        ("127.0.0.1", 200),
        ("LOCALHOST.", 200),
    ],
)
def test_requests_for_other_machines_get_no_answer(served: Served, host: str, status: int) -> None:
    """A site whose name leads here for a moment is another site to the browser, and would read what it asks for."""
    assert served.get("/", Host=host).status == status


@pytest.mark.slow
def test_the_log_has_no_control_characters(datasets: Path) -> None:
    with serving(datasets, "--verbose") as served:
        served.get("/%1b[31m/a%0d%0ab")
        served.raw(b"GET /x\x1b[31m HTTP/1.1\r\nHost: localhost\r\n\r\n", 1)
        served.end()
        assert served.process.stderr is not None
        log = served.process.stderr.read()
    assert "GET /%1b[31m/a%0d%0ab 404" in log
    assert "\x1b" not in log


@pytest.mark.slow
def test_nothing_is_said_unless_it_is_asked_for(datasets: Path) -> None:
    with serving(datasets) as served:
        served.get("/")
        served.get("/zarr2/missing.cdl/.zgroup")
        served.raw(b"nonsense\r\n\r\n", 1)
        served.end()
        assert served.process.stderr is not None
        assert served.process.stderr.read() == ""


@pytest.mark.slow
def test_a_client_that_says_nothing_is_left(datasets: Path) -> None:
    with serving(datasets, "--timeout", "0.5") as served:
        for said in (b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: localhost\r\nX:"):
            begun = time.monotonic()
            assert served.raw(said, 10) == b""
            assert time.monotonic() - begun < 5


@pytest.mark.slow
def test_more_clients_than_there_may_be(datasets: Path) -> None:
    with serving(datasets, "--connections", "4") as served:
        lines = [socket.create_connection((served.host, served.port)) for _ in range(20)]
        for line in lines:
            line.settimeout(0.5)
            line.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        for number, line in enumerate(lines):
            if number < 4:
                assert line.recv(15) == b"HTTP/1.1 200 OK"
            else:
                with pytest.raises(TimeoutError):
                    line.recv(1)
                break
        lines[0].close()
        assert lines[4].recv(15) == b"HTTP/1.1 200 OK"
        for line in lines:
            line.close()
        assert served.get("/").status == 200
