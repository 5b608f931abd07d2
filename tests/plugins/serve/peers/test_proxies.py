"""nginx and Caddy with the configurations in `deploy/`, in front of a real server: prefix, users, what stays closed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from types import ModuleType
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from tests.conftest import ROOT
from tests.support.peers.proxies import (
    EMAIL,
    PASSWORD,
    PROVIDER,
    SESSION,
    TOKEN,
    USER,
    Echo,
    Proxy,
    SignIn,
    basic,
    listening,
    make_certificate,
    make_users,
    run,
    run_caddy,
    run_nginx,
)
from tests.support.serving import SECONDS, Served, serving

pytestmark = pytest.mark.peer

PROXIES = ("nginx", "caddy")
VARIANTS = ("nczarr", "basic-auth", "oidc")
ALLOWED: dict[str, dict[str, str]] = {
    "nczarr": {},
    "basic-auth": {"Authorization": basic()},
    "oidc": {"Cookie": f"a=b; _oauth2_proxy={SESSION}"},
}
"""Headers of a client that may read, by variant."""

Start = Callable[[str, str, int], Proxy]

every_proxy = pytest.mark.parametrize("kind", PROXIES)
every_variant = pytest.mark.parametrize("variant", VARIANTS)


@pytest.fixture(scope="module")
def archive(datasets: Path) -> Iterator[Served]:
    """The server behind the proxies."""
    with serving(datasets, "--root-path", "https://data.example.org/archive") as found:
        yield found


@pytest.fixture(scope="module")
def echo() -> Iterator[Echo]:
    server = Echo()
    with listening(server):
        yield server


@pytest.fixture(scope="module")
def sign_in() -> Iterator[SignIn]:
    server = SignIn()
    with listening(server):
        yield server


def find(kind: str, tool: Callable[[str], str]) -> str:
    """The path of a proxy: Debian's nginx is where users that are not root do not look."""
    return shutil.which(kind, path=f"{os.environ['PATH']}{os.pathsep}/usr/sbin") or tool(kind)


@pytest.fixture(scope="module")
def start(tool: Callable[[str], str], sign_in: SignIn, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """Start a proxy in front of a port: one process for each proxy, configuration and port."""
    running: dict[tuple[str, str, int], Proxy] = {}
    with ExitStack() as stack:

        def run_once(kind: str, variant: str, port: int) -> Proxy:
            key = (kind, variant, port)
            if key not in running:
                program, openssl = find(kind, tool), tool("openssl")
                folder = tmp_path_factory.mktemp(f"{kind}-{variant}")
                users = make_users(openssl, kind, folder / "users")
                given = (program, variant, folder, port, sign_in.server_address[1], users)
                made = run_nginx(*given, make_certificate(openssl, folder)) if kind == "nginx" else run_caddy(*given)
                running[key] = stack.enter_context(made)
            return running[key]

        yield run_once


@pytest.mark.sampled(6)
# ---- every configuration ---------------------------------------------------------------------------------------------
@every_variant
@every_proxy
def test_pages_work_below_the_prefix(kind: str, variant: str, archive: Served, start: Start) -> None:
    proxy, headers = start(kind, variant, archive.port), ALLOWED[variant]
    short = proxy.get("/archive", **headers)
    page = proxy.get("/archive/browse/station.cdl", **headers)
    assert short.status in (301, 302)
    assert urlsplit(short.headers["location"]).path == "/archive/"
    assert (proxy.get("/archive/", **headers).status, page.status) == (200, 200)
    links = re.findall(r'(?:href|src|action)="(/[^"]*)"', page.text)
    assert all(link.startswith("/archive/") for link in links)
    (style,) = (link for link in links if link.endswith("pages.css"))
    answer = proxy.get(style, **headers)
    assert (answer.status, answer.headers["content-type"]) == (200, "text/css; charset=utf-8")
    assert "https://data.example.org/archive/zarr3/station.cdl" in page.text
    assert proxy.get("/browse/station.cdl", **headers).status == (404 if kind == "nginx" else 200)  # Caddy: empty
    assert b"station" not in proxy.get("/browse/station.cdl", **headers).body


@every_variant
@every_proxy
def test_metrics_are_closed(kind: str, variant: str, archive: Served, start: Start) -> None:
    proxy, headers = start(kind, variant, archive.port), ALLOWED[variant]
    assert "nczarr_requests_total" in archive.get("/metrics").text
    for path in (
        "/archive/metrics",
        "/archive/metrics?a=b",
        "/archive/metrics/",
        "/archive//metrics",
        "//archive/metrics",
        "/archive/%6Detrics",
        "/archive/%6detrics?x",
        "/archive/x/../metrics",
        "/archive/./metrics",
        "/archive/archive/metrics",
        "/archive/archive/archive/metrics",
        "/archive/METRICS",
        "/archive/metrics%2f",
        "/archive/metrics;x",
        "/archive%2fmetrics",
        "/x/../metrics",
        "/metrics",
    ):
        for method in ("GET", "HEAD"):
            answer = proxy.get(path, method, **headers)
            assert b"nczarr_" not in answer.body, path
            assert "no-store" not in answer.headers.get("cache-control", ""), path  # as the server sends them
    assert proxy.get("/archive/metrics", **headers).status == 404


@every_variant
@every_proxy
def test_parts_of_files_and_names_pass_as_they_are(
    kind: str, variant: str, archive: Served, datasets: Path, start: Start
) -> None:
    proxy, headers = start(kind, variant, archive.port), ALLOWED[variant]
    content = (datasets / "cmip.nc").read_bytes()
    part = proxy.get("/archive/file/cmip.nc", Range="bytes=100-1099", **headers)
    tail = proxy.get("/archive/file/cmip.nc", Range="bytes=-10", **headers)
    assert (part.status, part.body) == (206, content[100:1100])
    assert part.headers["content-range"] == f"bytes 100-1099/{len(content)}"
    assert (tail.status, tail.body) == (206, content[-10:])
    again = proxy.get("/archive/file/cmip.nc", If_None_Match=part.headers["etag"], **headers)
    assert again.status == 304
    odd = quote("odd &<b>\"' ümlaut.cdl")
    for target in (f"/zarr2/{odd}/.zattrs", "/dap2/cmip.nc.ascii?lat[0:1]", "/view/cmip.nc?var=tas&format=json"):
        direct, through = archive.get(target), proxy.get(f"/archive{target}", **headers)
        assert (direct.status, direct.status, direct.body) == (200, through.status, through.body), target


@every_variant
@every_proxy
def test_answers_are_streamed(kind: str, variant: str, echo: Echo, start: Start) -> None:
    echo.may_go_on.clear()
    with closing(start(kind, variant, echo.server_address[1]).connect()) as connection:
        connection.request("GET", "/archive/slow", headers=ALLOWED[variant])
        answer = connection.getresponse()
        first = answer.read(Echo.HALF)
        echo.may_go_on.set()
        second = answer.read()
    assert (len(first), len(second)) == (Echo.HALF, Echo.HALF)
    assert echo.went_on  # the client had the first half by then


def test_nginx_sends_browsers_to_https(archive: Served, start: Start) -> None:
    proxy = start("nginx", "nczarr", archive.port)

    class Stay(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *args: object) -> None:
            return None

    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.build_opener(Stay).open(f"http://localhost:{proxy.plain_port}/archive/?q=a", timeout=SECONDS)
    assert (caught.value.code, caught.value.headers["Location"]) == (301, "https://localhost/archive/?q=a")


# ---- names and passwords ---------------------------------------------------------------------------------------------
@every_proxy
def test_basic_auth_asks_for_a_password(kind: str, archive: Served, start: Start) -> None:
    proxy = start(kind, "basic-auth", archive.port)
    for path in ("/archive/", "/archive/healthz", "/archive/static/pages.css", "/archive/zarr3/cmip.nc/zarr.json"):
        refused = proxy.get(path)
        assert refused.status == 401, path
        assert refused.headers["www-authenticate"].startswith("Basic realm=")
        for wrong in (basic(password="p"), "Basic !", "Bearer x"):
            assert proxy.get(path, Authorization=wrong).status == 401, (path, wrong)
        assert proxy.get(path, Authorization=basic()).status == 200, path


@pytest.mark.long
def test_users_are_added_as_the_page_says(
    tool: Callable[[str], str], archive: Served, sign_in: SignIn, tmp_path: Path
) -> None:
    """Hashes of `caddy hash-password` cost a second of a processor each, also to refuse a name that is not there."""
    caddy, users = find("caddy", tool), tmp_path / "users"
    users.write_text(f"{USER} {run(caddy, 'hash-password', '--plaintext', PASSWORD)}\n", encoding="ascii")
    with run_caddy(caddy, "basic-auth", tmp_path, archive.port, sign_in.server_address[1], users) as proxy:
        given = (basic(), basic("eve"), basic(password="p"))
        assert [proxy.get("/archive/healthz", Authorization=each).status for each in given] == [200, 401, 401]


@every_proxy
def test_the_password_stays_with_the_proxy(kind: str, echo: Echo, start: Start) -> None:
    answer = start(kind, "basic-auth", echo.server_address[1]).get("/archive/x", Authorization=basic())
    assert "authorization" not in json.loads(answer.body)["headers"]


READ = """
import sys, aiohttp, xarray, zarr
url, name, password = sys.argv[1:]
options = {"client_kwargs": {"auth": aiohttp.BasicAuth(name, password, encoding="utf-8")}}
dataset = xarray.open_zarr(url, storage_options=options)
group = zarr.open_group(url, mode="r", storage_options=options)
assert (dataset["tas"].values == group["tas"][:]).all()
print(*dataset["tas"].shape, float(dataset["tas"].sum()))
try:
    zarr.open_group(url, mode="r")
except Exception as error:
    print(type(error).__name__, "401" in str(error))
"""


@pytest.mark.long
@every_proxy
def test_libraries_read_through_basic_auth(
    kind: str, archive: Served, datasets: Path, start: Start, peer: Callable[[str], ModuleType]
) -> None:
    for name in ("aiohttp", "xarray", "zarr", "netCDF4"):
        peer(name)
    proxy = start(kind, "basic-auth", archive.port)
    command = [sys.executable, "-W", "ignore", "-c", READ, f"{proxy.url}/archive/zarr3/cmip.nc", USER, PASSWORD]
    environment = {**os.environ, "SSL_CERT_FILE": str(proxy.certificate), "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(command, capture_output=True, check=False, text=True, env=environment, timeout=120)
    assert ran.returncode == 0, ran.stderr
    with peer("netCDF4").Dataset(datasets / "cmip.nc") as dataset:
        values = dataset["tas"][:]
    *shape, total = ran.stdout.splitlines()[0].split()
    assert tuple(map(int, shape)) == values.shape
    assert float(total) == pytest.approx(float(values.sum(dtype="f8")), rel=1e-5)
    assert ran.stdout.splitlines()[1].endswith("True"), ran.stdout


# ---- accounts of a provider ------------------------------------------------------------------------------------------
BROWSER = "text/html,application/xhtml+xml,*/*;q=0.8"


@every_proxy
def test_a_browser_signs_in_and_comes_back(kind: str, archive: Served, start: Start) -> None:
    proxy, page = start(kind, "oidc", archive.port), "/archive/view/cmip.nc?var=tas&format=json&low=%26"
    sent = proxy.get(page, Accept=BROWSER)
    assert sent.status == 302
    assert sent.headers["location"].startswith(PROVIDER)
    assert sent.headers["set-cookie"] == "_oauth2_proxy_csrf=c"
    (state,) = parse_qs(urlsplit(sent.headers["location"]).query)["state"]
    assert state == page
    back = proxy.get(f"/oauth2/callback?code=c&state={quote(state, safe='')}", Accept=BROWSER)
    assert (back.status, back.headers["location"]) == (302, page)
    cookie = back.headers["set-cookie"].partition(";")[0]
    there = proxy.get("/archive/browse/cmip.nc", Accept=BROWSER, Cookie=cookie)
    assert (there.status, "tas" in there.text) == (200, True)
    assert proxy.get("/archive/browse/cmip.nc", Accept=BROWSER, Cookie=f"{cookie}x").status == 302


@every_proxy
def test_a_program_without_a_token_gets_401(kind: str, archive: Served, start: Start) -> None:
    proxy = start(kind, "oidc", archive.port)
    key = "/archive/zarr3/cmip.nc/zarr.json"
    assert proxy.get(key).status == 401
    assert proxy.get(key, Accept="*/*").status == 401
    assert proxy.get(key, Authorization="Bearer other").status == 401
    assert proxy.get(key, Authorization=f"Bearer {TOKEN}").status == 200


@every_proxy
def test_what_a_client_says_about_its_identity_counts_nowhere(
    kind: str, echo: Echo, sign_in: SignIn, start: Start
) -> None:
    forged = {
        "X-Auth-Request-User": "root",
        "X-Auth-Request-Email": "root@example.org",
        "X-Auth-Request-Groups": "admin",
        "X-Auth-Request-Redirect": "https://evil.example.org/",
        "X-Forwarded-User": "root",
        "X-Forwarded-Email": "root@example.org",
        "X-Forwarded-Uri": "/oauth2/sign_in",
        "X-Forwarded-Host": "evil.example.org",
        "X-Forwarded-For": "10.1.2.3",
        "X-Real-IP": "10.1.2.3",
    }
    proxy = start(kind, "oidc", echo.server_address[1])
    assert proxy.get("/archive/x", **forged).status == 401
    sent = proxy.get("/archive/x?y", Accept=BROWSER, **forged)
    assert parse_qs(urlsplit(sent.headers["location"]).query)["state"] == ["/archive/x?y"]
    sign_in.asked.clear()
    seen = json.loads(proxy.get("/archive/x?y", **ALLOWED["oidc"], **forged).body)["headers"]
    told = ("x-auth-request-user", "x-auth-request-email", "x-forwarded-user", "x-forwarded-email")
    assert not {"authorization", "cookie", *told} & set(seen)
    (asked,) = sign_in.asked
    assert asked["x-forwarded-uri"] == "/archive/x?y"
    assert asked["x-forwarded-host"].partition(":")[0] == "localhost"
    assert asked["x-real-ip"] == asked["x-forwarded-for"] == "127.0.0.1"


@pytest.mark.long
def test_the_log_of_nginx_has_who_reads(archive: Served, start: Start) -> None:
    proxy = start("nginx", "oidc", archive.port)
    proxy.get("/archive/healthz?logged", **ALLOWED["oidc"])
    assert proxy.log is not None
    (line,) = (line for line in proxy.log.read_text(encoding="ascii").splitlines() if "?logged" in line)
    assert re.fullmatch(rf'127\.0\.0\.1 - {EMAIL} \[[^]]+\] "GET /archive/healthz\?logged HTTP/1\.1" 200 3', line)
