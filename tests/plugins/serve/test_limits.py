"""What a server may take: sizes, turns, time; clients that are slow; how it ends."""

from __future__ import annotations

import asyncio
import hashlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from nczarr.plugins.serve.delivery import DeliveredBody
from nczarr.plugins.serve.resources import PIECE, BusyServerError, Disk, Limits, Workers
from nczarr.stores.ranges import Range
from tests.conftest import ROOT
from tests.support.serving import Served, serving

LENGTH = 6_000_000


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory, peer: Callable[[str], ModuleType]) -> Path:
    """One file with a chunk that is moved as it lies (`moved`), and one of the same size that is made (`made`)."""
    numpy, netcdf = peer("numpy"), peer("netCDF4")
    root = tmp_path_factory.mktemp("large")
    values = numpy.random.default_rng(1).integers(0, 2**31, LENGTH, "i4")
    with netcdf.Dataset(root / "large.nc", "w") as file:
        file.createDimension("x", LENGTH)
        file.createVariable("moved", "i4", ("x",), zlib=True, complevel=1, chunksizes=(LENGTH,))[:] = values
        file.createVariable("plain", "i4", ("x",), contiguous=True)[:] = values
    return root


def tree(root: Path) -> str:
    """One hash of all names and bytes below a folder."""
    found = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        found.update(str(path.relative_to(root)).encode())
        if path.is_file():
            found.update(path.read_bytes())
    return found.hexdigest()


@pytest.mark.slow
def test_answers_have_a_limit(large: Path) -> None:
    with serving(large, "--max-response", "1MB") as served:
        for path in ("/zarr2/large.nc/moved/0", "/zarr3/large.nc/moved/c/0", "/cdmremote/large.nc?req=data&var=plain",
                     "/dap2/large.nc.dods?plain", "/dap2/large.nc.asc?plain", "/dap4/large.nc.dap?dap4.ce=/plain",
                     "/download/large.nc?var=plain&format=nc"):  # fmt: skip
            reply = served.get(path)
            assert reply.status == 413, path
            assert "1000000" in reply.text
        assert served.get("/zarr2/large.nc/.zmetadata").status == 200
        assert served.resident() < 300 << 20


@pytest.mark.slow
def test_lists_and_texts_have_a_limit_too(tmp_path: Path) -> None:
    """Nobody knows their size before they are read; still no answer begins that is too large."""
    long = ", ".join(map(str, range(20_000)))
    text = "netcdf t {\ntypes:\n  double(*) row ;\n  compound rec { int i ; row r ; } ;\ndimensions:\n  x = 3 ;\n"
    text += "variables:\n  row v(x) ;\n  rec c(x) ;\n  string s(x) ;\ndata:\n"
    text += f"  v = {{1, 2}}, {{{long}}}, {{3}} ;\n  c = {{1, {{1}}}}, {{2, {{{long}}}}}, {{3, {{}}}} ;\n"
    text += f'  s = "a", "{"b" * 2_000_000}", "c" ;\n}}\n'
    (tmp_path / "t.cdl").write_text(text, encoding="utf-8")
    with serving(tmp_path, "--max-response", "100kB") as served:
        for name in ("v", "v(1)", "c", "c(0:1)", "s", "s(1)"):
            reply = served.get(f"/cdmremote/t.cdl?req=data&var={name}")
            assert (reply.status, "100000" in reply.text) == (413, True), name
        for name in ("v(0)", "v(0:2:2)", "v(2,:)", "s(0:2:2)"):
            assert served.get(f"/cdmremote/t.cdl?req=data&var={name}").status == 200, name
        for path in ("/dap2/t.cdl.dods?s", "/dap4/t.cdl.dap?dap4.ce=/s"):
            assert served.get(path).status == 413, path
        for path in ("/dap2/t.cdl.dods?s[0:2:2]", "/dap4/t.cdl.dap?dap4.ce=/v[0:2:2]"):
            assert served.get(path).status == 200, path
        assert served.get("/zarr2/t.cdl/v/content/0").status == 413
        assert served.get("/zarr2/t.cdl/v/counts/0").status == 200


@pytest.mark.slow
def test_more_work_than_may_wait(large: Path, peer: Callable[[str], ModuleType]) -> None:
    """Clients who find no room are told to come again; the others get what they asked for."""
    h5py, numpy = peer("h5py"), peer("numpy")
    with h5py.File(large / "made.h5", "w") as file:
        file.create_dataset("v", data=numpy.arange(LENGTH), chunks=(LENGTH,), compression="lzf")
    with serving(large, "--concurrency", "1", "--queue", "2") as served:
        assert served.get("/zarr2/made.h5/.zmetadata").status == 200
        seen: list[tuple[int, str | None]] = []

        def ask() -> None:
            connection = http.client.HTTPConnection(served.host, served.port, timeout=60)
            connection.request("GET", "/zarr2/made.h5/v/0")
            reply = connection.getresponse()
            seen.append((reply.status, reply.headers["retry-after"]))
            reply.read()
            connection.close()

        threads = [threading.Thread(target=ask) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert {status for status, _ in seen} == {200, 503}
        assert all(again == "2" for status, again in seen if status == 503)
        assert served.get("/").status == 200
    (large / "made.h5").unlink()


@pytest.mark.slow
def test_pieces_of_a_large_chunk_are_those_of_the_file(large: Path) -> None:
    with serving(large) as served:
        whole = served.get("/zarr2/large.nc/moved/0")
        assert (whole.status, len(whole.body)) == (200, int(whole.headers["content-length"]))
        assert len(whole.body) > 10 << 20
        part = served.get("/zarr2/large.nc/moved/0", Range="bytes=3000000-9999999")
        assert (part.status, part.body) == (206, whole.body[3_000_000:10_000_000])
        assert whole.body in (large / "large.nc").read_bytes()


def slow(served: Served, path: str) -> socket.socket:
    """A client that asks, and takes next to nothing."""
    line = socket.socket()
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    line.connect((served.host, served.port))
    line.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    return line


@pytest.mark.slow
def test_slow_clients_do_not_hold_up_others(large: Path) -> None:
    with serving(large, "--concurrency", "2") as served:
        for path in ("/zarr2/large.nc/moved/0", "/zarr2/large.nc/plain/0"):
            assert served.get(path).status == 200
        before = served.resident()
        lines = [slow(served, f"/zarr2/large.nc/{('moved', 'plain')[n % 2]}/0") for n in range(24)]
        time.sleep(1.5)
        for _ in range(3):
            for line in lines:
                assert line.recv(1)
            begun = time.monotonic()
            for path in ("/", "/zarr2/large.nc/.zmetadata", "/zarr2/large.nc/plain/1"):
                assert served.get(path).status == 200
            assert time.monotonic() - begun < 2
        assert served.resident() - before < 100 << 20
        for line in lines:
            line.close()
        assert served.get("/").status == 200


@pytest.mark.slow
def test_a_client_that_takes_nothing_is_cut_off(large: Path) -> None:
    with serving(large, "--timeout", "1") as served:
        line = slow(served, "/zarr2/large.nc/moved/0")
        time.sleep(2.7)
        taken = 0
        line.settimeout(5)
        try:
            while piece := line.recv(1 << 20):
                taken += len(piece)
        except ConnectionError:
            pass
        assert taken < 10 << 20
        assert served.get("/").status == 200


@pytest.mark.slow
@pytest.mark.parametrize(
    "target", ["/cdmremote/cut.nc?req=data&var=plain", "/dap2/cut.nc.dods?plain", "/dap4/cut.nc.dap?dap4.ce=/plain"]
)
def test_a_file_that_is_cut_in_the_middle_of_an_answer(target: str, large: Path, tmp_path: Path) -> None:
    path = tmp_path / "cut.nc"
    path.write_bytes((large / "large.nc").read_bytes())
    with serving(tmp_path) as served:
        line = slow(served, target)
        time.sleep(0.5)
        with path.open("r+b") as file:
            file.truncate(10_000)
        line.settimeout(60)
        taken = 0
        try:
            while piece := line.recv(1 << 20):
                taken += len(piece)
        except ConnectionError:
            pass
        assert taken < 4 * LENGTH
        assert served.get("/").status == 200


@pytest.mark.slow
@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_it_ends_when_it_is_told_to(number: int, status: int, large: Path) -> None:
    with serving(large, "--grace", "1") as served:
        assert served.get("/zarr2/large.nc/.zmetadata").status == 200
        line = slow(served, "/zarr2/large.nc/moved/0")
        time.sleep(0.2)
        begun = time.monotonic()
        assert served.end(number) == status
        assert time.monotonic() - begun < 6
        line.close()
        assert served.process.stderr is not None
        assert served.process.stderr.read() == ""


@pytest.mark.long
@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_signals_are_handled_when_the_url_is_printed(number: int, status: int, large: Path) -> None:
    with serving(large) as served:
        assert served.end(number) == status


@pytest.mark.slow
def test_in_the_background_of_a_shell_it_ends_as_well(large: Path) -> None:
    """A shell without job control has such processes ignore SIGINT."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with serving(large) as served:
            assert served.get("/").status == 200
            assert served.end(signal.SIGINT) == 130
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.slow
def test_an_answer_that_has_begun_is_finished(large: Path) -> None:
    with serving(large) as served:
        whole = served.get("/zarr2/large.nc/moved/0").body
        connection = http.client.HTTPConnection(served.host, served.port)
        connection.request("GET", "/zarr2/large.nc/moved/0")
        reply = connection.getresponse()
        first = reply.read(100)
        ending = threading.Thread(target=served.end)
        ending.start()
        time.sleep(0.3)
        assert first + reply.read() == whole
        ending.join()
        assert served.process.returncode == 0


@pytest.mark.slow
def test_killed_in_the_middle_it_leaves_all_as_it_was(large: Path) -> None:
    before = tree(large)
    paths = ["/", "/zarr2/large.nc/.zmetadata", "/zarr2/large.nc/plain/0", "/zarr3/large.nc/moved/c/0"]
    with serving(large) as served:
        answers = [served.get(path).body for path in paths]
        line = slow(served, paths[-1])
        served.process.kill()
        served.process.wait()
        line.close()
    assert tree(large) == before
    with serving(large) as served:
        assert [served.get(path).body for path in paths] == answers
    assert tree(large) == before


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["missing"], 3, "unreachable-file"),
        (["."], 3, "unreachable-file"),
        ([".", "--port", "70000"], 2, "is not a port"),
        ([".", "--max-response", "x"], 2, "is not a size"),
        ([".", "--concurrency", "0"], 2, "is not a number"),
        ([".", "--timeout", "-1"], 2, "is not a time"),
        (["/dev/null"], 3, "neither a folder nor a file"),
    ],
)
def test_wrong_usage(arguments: list[str], status: int, words: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        if arguments == ["."]:
            arguments = [".", "--port", str(taken.getsockname()[1])]
        command = [sys.executable, "-m", "nczarr", "serve", *arguments]
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=tmp_path, check=False, timeout=60, env=environment()
        )
    assert (done.returncode, done.stdout) == (status, "")
    assert words in done.stderr


def environment() -> dict[str, str]:
    import os

    return {**os.environ, "PYTHONPATH": str(ROOT)}


@pytest.mark.slow
def test_without_the_library_it_says_so(tmp_path: Path) -> None:
    code = "import sys; sys.modules['uvicorn'] = None; from nczarr.__main__ import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, "serve", str(tmp_path), "--port", "0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=environment())
    assert (done.returncode, done.stdout) == (3, "")
    assert "missing-library" in done.stderr
    assert "nczarr[serve]" in done.stderr


def workers(**limits: float) -> Workers:
    return Workers(Limits()._replace(**limits))  # type: ignore[arg-type]


def test_turns() -> None:
    """Work beyond the threads waits, work beyond the queue is refused, and work that is begun comes first."""

    async def turns() -> list[str]:
        crew, gate, order = workers(concurrency=1, queue=2, timeout=5.0), threading.Event(), list[str]()
        first = asyncio.ensure_future(crew.do(lambda: gate.wait() and order.append("first")))
        await asyncio.sleep(0.05)
        rest = [asyncio.ensure_future(crew.do(lambda name=name: order.append(name))) for name in ("second", "third")]
        await asyncio.sleep(0.05)
        with pytest.raises(BusyServerError):
            await crew.do(lambda: order.append("fourth"))
        begun = asyncio.ensure_future(crew.do(lambda: order.append("begun"), begun=True))
        await asyncio.sleep(0.05)
        gate.set()
        await asyncio.gather(first, begun, *rest)
        crew.close()
        return order

    assert asyncio.run(turns()) == ["first", "begun", "second", "third"]


def test_light_work_does_not_wait_for_heavy_work() -> None:
    async def light() -> str:
        crew, gate = workers(concurrency=2, queue=9, timeout=5.0), threading.Event()
        heavy = [asyncio.ensure_future(crew.do(gate.wait, 10)) for _ in range(3)]
        heavy += [asyncio.ensure_future(crew.do(gate.wait, heavy=True)) for _ in range(3)]
        await asyncio.sleep(0.05)
        found = await asyncio.wait_for(crew.do(lambda: "soon done"), 1)
        gate.set()
        assert all(await asyncio.gather(*heavy))
        crew.close()
        return found

    assert asyncio.run(light()) == "soon done"


def test_memory_is_shared_out() -> None:
    async def most() -> int:
        crew, lock, now, highest = workers(concurrency=8, memory=100), threading.Lock(), [0], [0]

        def work(need: int) -> None:
            with lock:
                now[0] += need
                highest[0] = max(highest[0], now[0])
            time.sleep(0.01)
            with lock:
                now[0] -= need

        await asyncio.gather(*(crew.do(lambda need=need: work(need), need) for need in [40, 60, 30, 90, 10] * 4))
        crew.close()
        return highest[0]

    assert asyncio.run(most()) <= 100


@pytest.mark.slow
def test_work_that_takes_too_long_is_given_up_and_keeps_its_place() -> None:
    async def late() -> None:
        crew, gate = workers(concurrency=1, queue=4, timeout=0.1), threading.Event()
        with pytest.raises(BusyServerError, match="longer than"):
            await crew.do(gate.wait)
        with pytest.raises(BusyServerError, match="the request waited longer"):
            await crew.do(lambda: None)
        gate.set()
        await asyncio.sleep(0.05)
        assert await crew.do(lambda: 7) == 7
        crew.close()

    asyncio.run(late())


def test_what_is_put_away_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "f"
    data = bytes(range(256)) * 9000
    path.write_bytes(data)
    body = (data[:10], Range(str(path), 5, len(data) - 5), data * 2)
    wanted = data[:10] + data[5:] + data * 2
    disk = Disk(1 << 30)
    for away in (False, True):
        held, found = DeliveredBody(body), b""
        while True:
            piece = held.take_ready() or held.next()
            if piece is None:
                break
            assert len(piece) <= PIECE
            found += piece
            if away:
                assert held.put_away(disk)
                assert held.memory == 0
        assert found == wanted
        held.close()
        assert disk.used == 0
    short = DeliveredBody((Range(str(path), 0, len(data) + 1),))
    with pytest.raises(OSError, match="ends before"):
        b"".join(iter(short.next, None))


@pytest.mark.long
def test_what_the_content_makes_impossible_is_no_fault_of_the_server(tmp_path: Path) -> None:
    """Archives that are cut or inflate without measure are 422, arrays larger than the memory 413; nothing is 500."""
    array = {
        "zarr_format": 2, "shape": [10**18], "chunks": [10**18], "dtype": "|u1", "compressor": None, "filters": None,
        "fill_value": 0, "order": "C",
    }  # fmt: skip
    (tmp_path / "large.zarr" / "a").mkdir(parents=True)
    (tmp_path / "large.zarr" / ".zgroup").write_text('{"zarr_format": 2}')
    (tmp_path / "large.zarr" / "a" / ".zarray").write_text(json.dumps(array))
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(".zgroup", '{"zarr_format": 2}')
        archive.writestr("a/.zarray", json.dumps({**array, "shape": [9], "chunks": [9]}))
        archive.writestr("a/.zattrs", b'{"p": "' + b"a" * 100_000_000 + b'"}')
    (tmp_path / "cut.zip").write_bytes((tmp_path / "bomb.zip").read_bytes()[:-30])
    for path in tmp_path.glob("*.zip"):
        os.utime(path, (10**9, 10**9))  # one that was just changed may be unfinished: 503
    with serving(tmp_path) as served:
        for name in ("bomb.zip", "cut.zip"):
            for way in (f"/browse/{name}", f"/zarr3/{name}/zarr.json", f"/dap2/{name}.dds", f"/view/{name}"):
                assert served.get(way).status == 422, way
        assert served.get("/browse/large.zarr").status == 200
        assert served.get("/view/large.zarr").status == 413
