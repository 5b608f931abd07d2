"""Operation of a server: access log, health, metrics, compression, error pages, base path, processes."""

from __future__ import annotations

import gzip
import json
import os
import re
import signal
import sys
import threading
import time
import urllib.request
from pathlib import Path

import pytest

from nczarr.plugins.serve.metrics import Metrics
from tests.conftest import run_command
from tests.support.serving import serving

COMMON = re.compile(r'127\.0\.0\.1 - - \[\d\d/\w{3}/\d{4}:\d\d:\d\d:\d\d \+0000\] "(.*)" (\d{3}) (\d+|-)')


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "data"
    made.mkdir()
    (made / "a.cdl").write_text("netcdf a { dimensions: x = 3 ; variables: int v(x) ; data: v = 1, 2, 3 ; }\n")
    return made


def lines_of(path: Path, count: int) -> list[str]:
    """The lines of a log as soon as it has that many."""
    for _ in range(500):
        found = path.read_text(encoding="ascii").splitlines() if path.exists() else []
        if len(found) >= count:
            return found
        time.sleep(0.01)
    raise AssertionError(found)


@pytest.mark.long
def test_common_log_has_a_line_for_each_request(folder: Path, tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    with serving(folder, "--access-log", f"common:{log}") as server:
        body = server.get("/zarr2/a.cdl/.zattrs").body
        server.get("/nothing")
        server.raw(b'GET /a"\x1b[31m\r\n HTTP/1.1\r\nHost: localhost\r\n\r\n')
        server.raw(b'GET /%22%1b%0a?"q\\ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
        found = lines_of(log, 3)
    parsed = [COMMON.fullmatch(line) for line in found]
    assert all(parsed), found
    first, second = (each.groups() for each in parsed[:2] if each)
    assert first == ("GET /zarr2/a.cdl/.zattrs HTTP/1.1", "200", str(len(body)))
    assert second[:2] == ("GET /nothing HTTP/1.1", "404")
    assert '\\x22q\\x5c HTTP/1.1" 404' in found[-1]


@pytest.mark.long
def test_json_log_is_opened_again(folder: Path, tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    with serving(folder, "--access-log", f"json:{log}") as server:
        server.get("/zarr2/a.cdl/.zattrs", User_Agent='a "b"\\')
        first = json.loads(lines_of(log, 1)[0])
        log.rename(tmp_path / "access.1")
        server.process.send_signal(signal.SIGHUP)
        for _ in range(500):
            if log.exists():
                break
            time.sleep(0.01)
        server.get("/nothing")
        second = json.loads(lines_of(log, 1)[0])
    assert {name: first[name] for name in ("client", "method", "target", "status", "user_agent")} == {
        "client": "127.0.0.1",
        "method": "GET",
        "target": "/zarr2/a.cdl/.zattrs",
        "status": 200,
        "user_agent": 'a "b"\\',
    }
    assert first["bytes"] > 0
    assert 0 < first["seconds"] < 60
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", first["time"])
    assert (second["target"], second["status"]) == ("/nothing", 404)


@pytest.mark.parametrize("form", ["other", "common:", "json:/nowhere/at/all"])
def test_a_log_that_cannot_be_written_is_an_error(folder: Path, form: str) -> None:
    ran = run_command("serve", str(folder), "--access-log", form)
    assert ran.status in (2, 3), ran.err
    assert form.partition(":")[2] in ran.err


@pytest.mark.long
def test_health_and_metrics(folder: Path) -> None:
    with serving(folder) as server:
        healthy = server.get("/healthz")
        assert (healthy.status, healthy.body, healthy.headers["cache-control"]) == (200, b"ok\n", "no-store")
        sent = len(server.get("/zarr2/a.cdl/.zattrs").body) + len(server.get("/zarr2/a.cdl/none").body)
        wait_for(lambda: 'seconds_count{route="zarr2"} 2\n' in server.get("/metrics").text)
        found = server.get("/metrics")
        assert found.headers["content-type"].startswith("text/plain; version=0.0.4")
        text = found.text
        folder.rename(folder.with_name("gone"))
        lost = server.get("/healthz")
        assert (lost.status, "the served folder is lost" in lost.text) == (503, True)
    assert 'nczarr_requests_total{route="zarr2",status="200"} 1\n' in text
    assert 'nczarr_requests_total{route="zarr2",status="404"} 1\n' in text
    assert f'nczarr_sent_bytes_total{{route="zarr2"}} {sent}\n' in text
    assert 'nczarr_request_seconds_bucket{route="zarr2",le="+Inf"} 2\n' in text
    assert 'nczarr_request_seconds_count{route="zarr2"} 2\n' in text
    assert re.search(r"nczarr_requests_in_progress [12]\n", text)  # the one before may not have ended yet
    for line in text.splitlines():
        assert re.fullmatch(r"# (HELP|TYPE) .+|\w+(\{\w+=\"[\w+./-]+\"(,\w+=\"[\w+./-]+\")*\})? [0-9.e+]+", line), line


def test_metrics_are_those_of_all_processes() -> None:
    metrics = Metrics(("browse",), 2)
    metrics.use(0)
    metrics.begin()
    metrics.use(1)
    metrics.begin()
    assert "nczarr_requests_in_progress 2\n" in metrics.text()


@pytest.mark.long
def test_texts_are_compressed_where_clients_take_it(folder: Path) -> None:
    variables = " ".join(f"int v{number}(x) ;" for number in range(50))
    (folder / "b.cdl").write_text(f"netcdf b {{ dimensions: x = 3 ; variables: {variables} }}\n")
    with serving(folder) as server:
        plain = server.get("/zarr2/b.cdl/.zmetadata")
        packed = server.get("/zarr2/b.cdl/.zmetadata", Accept_Encoding="br, gzip;q=0.5")
        refused = server.get("/zarr2/b.cdl/.zmetadata", Accept_Encoding="gzip;q=0, identity")
        part = server.get("/zarr2/b.cdl/.zmetadata", Accept_Encoding="gzip", Range="bytes=0-9")
        chunk = server.get("/zarr2/b.cdl/v0/0", Accept_Encoding="gzip")
        again = server.get("/zarr2/b.cdl/.zmetadata", Accept_Encoding="gzip", If_None_Match=packed.headers["etag"])
        head = server.get("/zarr2/b.cdl/.zmetadata", "HEAD", Accept_Encoding="gzip")
    assert plain.body == refused.body == gzip.decompress(packed.body)
    assert len(packed.body) < len(plain.body) / 3
    assert packed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers | refused.headers | part.headers | chunk.headers
    assert "Accept-Encoding" in plain.headers["vary"] + packed.headers["vary"]
    assert "accept-ranges" not in packed.headers
    assert packed.headers["etag"] != plain.headers["etag"]
    assert (part.status, part.body) == (206, plain.body[:10])
    assert (again.status, again.body, again.headers["etag"]) == (304, b"", packed.headers["etag"])
    assert head.headers["content-length"] == packed.headers["content-length"]


@pytest.mark.long
def test_browsers_see_pages_of_errors(folder: Path) -> None:
    with serving(folder) as server:
        found = server.get("/browse/<b>", Accept="text/html,*/*")
        plain = server.get("/browse/<b>", Accept="*/*")
    assert (found.status, plain.status) == (404, 404)
    assert found.headers["content-type"].startswith("text/html")
    assert "404 Not Found" in found.text
    assert plain.text.rstrip() in found.text
    assert 'href="/"' in found.text
    assert plain.headers["content-type"].startswith("text/plain")


@pytest.mark.long
@pytest.mark.parametrize("base", ["/deep/data", "https://a.org/deep/data/"])
def test_a_base_path_is_in_every_link(folder: Path, base: str) -> None:
    with serving(folder, "--root-path", base) as server:
        passed_on, removed = server.get("/deep/data/browse/a.cdl"), server.get("/browse/a.cdl")
        other = server.get("/deep/database")
        listing = json.loads(server.get("/deep/data?format=json").body)
        root, found = server.get("/").text, server.get("/?q=a").text
        meant = server.get("/", Host="a.org").status
    assert (passed_on.status, removed.status, other.status) == (200, 200, 404)
    assert passed_on.body == removed.body
    for page in (passed_on.text, root, found):
        links = re.findall(r'(?:href|src|action)="(/[^"]*)"', page)
        assert links
        assert all(each.startswith("/deep/data/") for each in links)
    assert 'action="/deep/data/"' in root
    assert 'href="/deep/data/?sort=-size"' in root or 'href="/deep/data/?sort=size"' in root
    assert listing["entries"][0]["links"]["zarr3"] == "/deep/data/zarr3/a.cdl"
    host = "https://a.org" if base.startswith("https") else f"http://{server.host}:{server.port}"
    assert f"{host}/deep/data/zarr3/a.cdl" in passed_on.text
    assert meant == (200 if base.startswith("https") else 403)


@pytest.mark.parametrize("content", ["nothing to be seen\n", ""])
def test_a_file_that_is_no_dataset_is_an_error_at_the_start(content: str, tmp_path: Path) -> None:
    (tmp_path / "readme.txt").write_text(content)
    with pytest.raises(AssertionError, match=r"unknown-format.*readme\.txt"), serving(tmp_path / "readme.txt"):
        pass


def test_a_host_behind_a_path_alone_needs_an_origin(folder: Path) -> None:
    with serving(folder, "--root-path", "/deep") as server:
        refused = server.get("/", Host="data.example.org")
    assert refused.status == 403
    assert "`--origin https://HOST`" in refused.text
    assert "`--root-path`" in refused.text
    with serving(folder, "--root-path", "/deep", "--origin", "https://data.example.org") as server:
        assert server.get("/deep/", Host="data.example.org").status == 200
        assert server.get("/deep/", Host="other.example.org").status == 403


@pytest.mark.parametrize("base", ["data", "/a/../b?", "ftp://a.org", "/<b>"])
def test_other_bases_are_refused(folder: Path, base: str) -> None:
    assert run_command("serve", str(folder), "--root-path", base).status == 2


# ---- processes -------------------------------------------------------------------------------------------------------
needs_proc = pytest.mark.skipif(sys.platform != "linux", reason="the processes of a process are known on Linux alone")


def wait_for(condition: object) -> None:
    assert callable(condition)
    for _ in range(1500):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("it did not come to that")


def has_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.long
@needs_proc
def test_processes_share_work_and_counts(folder: Path) -> None:
    with serving(folder, "--processes", "2") as server:
        first = server.children()
        assert len(first) == 2
        for _ in range(4):
            urllib.request.urlopen(f"{server.url}zarr2/a.cdl/.zattrs").read()
        line = 'nczarr_requests_total{route="zarr2",status="200"} 4\n'
        wait_for(lambda: line in server.get("/metrics").text)  # a request counts when its answer has ended
        killed = first.pop()
        os.kill(killed, signal.SIGKILL)
        wait_for(lambda: len(server.children()) == 2 and killed not in server.children())
        assert server.get("/zarr2/a.cdl/.zattrs").status == 200
        last = server.children()
        assert server.end() == 0
        wait_for(lambda: all(map(has_gone, last)))


@pytest.mark.long
@needs_proc
def test_a_single_process_is_replaced_when_it_ends(folder: Path) -> None:
    with serving(folder) as server:
        for number in (signal.SIGKILL, signal.SIGSEGV, *[signal.SIGKILL] * 4):  # each of them has started
            (killed,) = server.children()
            os.kill(killed, number)
            wait_for(lambda killed=killed: server.children() and killed not in server.children())
            assert server.get("/zarr2/a.cdl/.zattrs").status == 200
        assert server.end(signal.SIGINT) == 130


@pytest.mark.long
@needs_proc
def test_processes_are_replaced_without_refused_clients(folder: Path) -> None:
    import http.client

    with serving(folder, "--processes", "2") as server:
        before, statuses, stop = server.children(), [], threading.Event()

        def ask() -> None:
            while not stop.is_set():
                line = http.client.HTTPConnection(server.host, server.port, timeout=30)
                line.request("GET", "/zarr2/a.cdl/.zattrs")
                statuses.append(line.getresponse().status)
                line.close()

        asking = threading.Thread(target=ask)
        asking.start()
        server.process.send_signal(signal.SIGHUP)
        wait_for(lambda: len(server.children()) == 2 and not server.children() & before)
        stop.set()
        asking.join()
        assert set(statuses) == {200}


@pytest.mark.long
@needs_proc
def test_processes_end_with_their_parent(folder: Path) -> None:
    with serving(folder, "--processes", "2") as server:
        running = server.children()
        server.process.kill()
        server.process.wait()
        wait_for(lambda: all(map(has_gone, running)))
