"""Requests to S3 by obstore: the same results, errors and requests as by s3fs alone."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

pytest.importorskip("s3fs", reason="s3fs is not installed: nczarr[remote]")
pytest.importorskip("obstore", reason="obstore is not installed: nczarr[remote]")

import fsspec

from nczarr.diagnostics.secrets import StorageOptions
from nczarr.plugins.remote import connection as connections
from nczarr.plugins.remote import quick_requests, range_request
from nczarr.plugins.remote.connection import FileConnection
from nczarr.plugins.remote.range_request import describe_object
from nczarr.plugins.remote.remote_store import RemoteStore, md5_of
from nczarr.plugins.remote.remote_target import RemoteTarget
from tests.conftest import ROOT
from tests.support.proxy import Proxy
from tests.support.s3 import BUCKET, S3

pytestmark = pytest.mark.peer

DATA = bytes(range(256)) * 40

Headers = list[tuple[str, str]]
Answer = tuple[int, Headers, bytes]


class Outcome(NamedTuple):
    """Value of a request, or the class and the message of its error."""

    value: Any
    error: tuple[type, str] | None


@pytest.fixture(autouse=True)
def _apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """File systems of this test alone, and no pauses."""
    monkeypatch.setattr(connections, "FIRST_PAUSE", 0.0)
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0.0)
    monkeypatch.setattr(connections, "_shared", connections.BoundedCache(connections.SHARED))


@pytest.fixture
def proxy(s3: S3, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    """A proxy of this test alone, which all clients use."""
    made = Proxy(s3.environment["AWS_ENDPOINT_URL"])
    monkeypatch.setenv("AWS_ENDPOINT_URL", made.endpoint)
    yield made
    made.close()


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Methods that s3fs calls."""
    import s3fs

    seen: list[str] = []
    call = s3fs.S3FileSystem._call_s3

    async def count(self: Any, method: str, *arguments: Any, **named: Any) -> Any:
        seen.append(method)
        return await call(self, method, *arguments, **named)

    monkeypatch.setattr(s3fs.S3FileSystem, "_call_s3", count)
    return seen


def connect(path: str = "", bucket: str = BUCKET, /, **options: Any) -> FileConnection:
    return FileConnection(f"s3://{bucket}/{path}".rstrip("/"), StorageOptions(options))


def without_obstore(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("obstore", "obstore.store"):
        monkeypatch.setitem(sys.modules, name, None)


def observe(work: Callable[[], Any]) -> Outcome:
    try:
        return Outcome(work(), None)
    except OSError as error:
        return Outcome(None, (type(error), str(error)))


def compare(proxy: Proxy, work: Callable[[], Any]) -> tuple[Outcome, int, int]:
    """Do the work by obstore and by s3fs alone; return the common outcome, and the numbers of requests."""
    observe(work)  # a bucket's first request takes long
    proxy.clear()
    quick = observe(work)
    count = len(proxy.requests)
    with pytest.MonkeyPatch.context() as patch:
        without_obstore(patch)
        patch.setattr(connections, "_shared", connections.BoundedCache(1))
        proxy.clear()
        alone = observe(work)
    assert quick == alone
    return quick, count, len(proxy.requests)


@pytest.fixture(scope="module")
def objects(s3: S3) -> None:
    system = fsspec.filesystem("s3", skip_instance_cache=True)
    system.pipe_file(f"{BUCKET}/quick/k", DATA)
    system.pipe_file(f"{BUCKET}/quick/empty", b"")


@pytest.mark.usefixtures("objects")
@pytest.mark.parametrize(
    ("key", "bounds", "count"),
    [
        ("k", {}, 1),
        ("k", {"start": 3, "end": 9}, 1),
        ("k", {"start": 3, "end": 1 << 40}, 1),
        ("k", {"start": -7}, 1),
        ("k", {"start": 3}, 1),
        ("empty", {}, 1),
    ],
)
def test_reads_are_equal(proxy: Proxy, calls: list[str], key: str, bounds: dict[str, int], count: int) -> None:
    outcome, quick, alone = compare(proxy, lambda: connect("quick").call("cat_file", key, **bounds))
    whole = DATA if key == "k" else b""
    assert outcome.value == whole[bounds.get("start") : bounds.get("end")]
    assert quick == alone == count
    assert len(calls) == (1 if bounds != {"start": 3} else 3)  # s3fs made those of the last run alone


@pytest.mark.sampled(3)
@pytest.mark.usefixtures("objects")
@pytest.mark.parametrize(
    ("bucket", "key", "options"),
    [
        (BUCKET, "quick/absent", {}),
        ("no-such-bucket", "k", {}),
        (BUCKET, "quick/k", {"secret": "hush" * 10}),
        (BUCKET, "quick/k", {"key": "AKIAHUSHHUSHHUSH0000", "secret": "hush" * 10}),
        (BUCKET, "quick/k", {"anon": True}),
        (BUCKET, "quick//k", {}),
        (BUCKET, "quick/./k", {}),
    ],
)
@pytest.mark.parametrize("what", ["read", "part", "range", "write"])
def test_failures_are_equal(proxy: Proxy, bucket: str, key: str, options: dict[str, Any], what: str) -> None:
    place = lambda: connect("", bucket, **options)  # noqa: E731
    works = {
        "read": lambda: place().call("cat_file", key),
        "part": lambda: place().call("cat_file", key, start=1, end=2),
        "range": lambda: connect(key, bucket, **options).read_range(1, 2),
        "write": lambda: place().call("pipe_file", key, b"1") and None,
    }
    if what == "write" and bucket == BUCKET and not options:
        pytest.skip("it succeeds")
    outcome, quick, alone = compare(proxy, works[what])
    if "/./" not in key and "//" not in key:
        assert outcome.error is not None
        assert "hush" not in outcome.error[1]
        assert quick >= alone  # each failure but a missing key is repeated


@pytest.mark.usefixtures("objects")
def test_a_missing_key_takes_one_request(proxy: Proxy) -> None:
    outcome, quick, alone = compare(proxy, lambda: connect().call("cat_file", "absent"))
    assert outcome.error == (FileNotFoundError, f"[Errno 2] The specified key does not exist.: 's3://{BUCKET}/absent'")
    assert quick == alone == 1


@pytest.mark.usefixtures("objects")
@pytest.mark.parametrize("bounds", [(0, 5), (10_000, 1 << 20), (-12, 0), (-(1 << 20), 0), (1 << 20, 1 << 21)])
def test_ranges_have_equal_records(proxy: Proxy, bounds: tuple[int, int]) -> None:
    def read() -> Any:
        answer = connect("quick/k").read_range(*bounds)
        return answer.data, answer.info["size"], describe_object(answer.info), md5_of(answer.info)

    outcome, quick, alone = compare(proxy, read)
    if bounds[0] < len(DATA):
        assert outcome.value[:2] == (DATA[bounds[0] : bounds[1] or None], len(DATA))
        assert "LastModified" in connect("quick/k").read_range(0, 1).info
        assert quick == alone == 1


@pytest.mark.sampled(3)
@pytest.mark.parametrize("key", ["a", "a b", "a%20b", "é", "a#b?c&d=e+f", "a~(b)'*!", "%", "a\\b", "x/y/z", "a\nb"])
def test_keys_are_equal(proxy: Proxy, key: str) -> None:
    data = key.encode()

    def work() -> Any:
        answer = connect("keys").call("pipe_file", key, data)
        info = fsspec.filesystem("s3", skip_instance_cache=True).info(f"{BUCKET}/keys/{key}")
        return md5_of(answer), answer["ETag"], info["size"], info["ContentType"], connect("keys").call("cat_file", key)

    outcome, _, _ = compare(proxy, work)
    assert outcome.value is not None
    assert outcome.value[-1] == data


def test_writes_take_one_request(proxy: Proxy, calls: list[str]) -> None:
    connect().call("pipe_file", "w", DATA)
    proxy.clear()
    calls.clear()
    assert md5_of(connect().call("pipe_file", "w", DATA)) is not None
    assert [request.method for request in proxy.requests] == ["PUT"]
    assert calls == []
    with pytest.raises(OSError, match="pre-conditions"):
        connect().call("pipe_file", "w", DATA, mode="create")
    assert "put_object" in calls  # conditions stay with s3fs


def alter(proxy: Proxy, change: Callable[[Any, Answer | None], Answer | None]) -> None:
    """Let `change` answer requests: it is called before each (with None) and after it (with the answer)."""
    ask = proxy._asked

    def answer(handler: Any, body: bytes) -> Answer:
        return change(handler, None) or (lambda found: change(handler, found) or found)(ask(handler, body))

    proxy._asked = answer  # type: ignore[method-assign]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("status", [500, 503, 429, 502])
@pytest.mark.parametrize("faults", [1, 3])
@pytest.mark.usefixtures("objects")
def test_transient_failures_pass(proxy: Proxy, status: int, faults: int) -> None:
    left = [status] * faults
    alter(proxy, lambda handler, found: (left.pop(), [], b"") if found is None and left else None)
    assert connect("quick").call("cat_file", "k") == DATA
    left += [status] * faults
    assert connect("quick").call("pipe_file", "faulty", DATA) is not None
    assert connect("quick").call("cat_file", "faulty") == DATA
    assert not left


@pytest.mark.usefixtures("objects")
def test_after_many_failures_s3fs_makes_the_requests(
    proxy: Proxy, calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = connect("quick")
    quick = quick_requests._find_requests(place.system)
    assert quick is not None
    for _ in range(quick_requests.FAILURES):
        left = [503]
        alter(proxy, lambda handler, found, left=left: (left.pop(), [], b"") if found is None and left else None)  # type: ignore[misc]
        assert place.call("cat_file", "k") == DATA
    assert not quick.is_ready()
    calls.clear()
    assert place.call("cat_file", "k") == DATA
    assert calls == ["get_object"]
    monkeypatch.setattr(quick, "_begin", 0.0)
    assert place.call("cat_file", "k") == DATA
    assert calls == ["get_object"]


def test_bytes_that_are_lost_are_no_result(proxy: Proxy, objects: None) -> None:
    cut = [2]

    def change(handler: Any, found: Answer | None) -> Answer | None:
        if found is None or not cut or not found[2]:
            return None
        cut.pop()
        other = [(name, value) for name, value in found[1] if name != "Content-Range"]
        return found[0], [*other, ("Content-Range", f"bytes 0-99/{len(DATA)}")], found[2][:100]

    alter(proxy, change)
    assert connect("quick/k").read_range(50, 150).data == DATA[50:150]


@pytest.mark.usefixtures("objects")
def test_a_silent_server_is_asked_as_often(proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    assert connect("quick").call("cat_file", "k") == DATA
    place = connect("quick")
    place.call("cat_file", "k")
    monkeypatch.setattr(connections, "PATIENCE", 0.4)
    proxy.clear()
    proxy.seconds = 2.0
    with pytest.raises(TimeoutError, match="no answer within the time allowed"):
        place.call("cat_file", "k")
    time.sleep(3)
    assert len(proxy.requests) == connections.SILENT
    proxy.clear()
    monkeypatch.setattr(range_request, "_interrupted", True)
    monkeypatch.setattr(range_request, "HURRIED", 0.1)
    proxy.seconds = 1.0
    with pytest.raises(TimeoutError):
        place.call("cat_file", "k")


@pytest.mark.usefixtures("objects")
def test_a_slow_answer_is_awaited_by_s3fs(proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    place = connect("quick")
    place.call("cat_file", "k")
    monkeypatch.setattr(connections, "PATIENCE", 4.0)
    proxy.clear()
    proxy.seconds = 2.0
    assert place.call("cat_file", "k") == DATA
    assert len(proxy.requests) == 2


@pytest.mark.parametrize("encryption", ["aws:kms", None])
def test_tags_of_encrypted_objects_are_no_digests(proxy: Proxy, encryption: str | None) -> None:
    def change(handler: Any, found: Answer | None) -> Answer | None:
        if found is None or handler.command not in ("PUT", "HEAD"):
            return None
        headers = [(name, value) for name, value in found[1] if name.lower() != "etag"]
        kms = [("x-amz-server-side-encryption", encryption)] if encryption else []
        return found[0], [*headers, ("ETag", f'"{"0" * 32}"'), *kms], found[2]

    target = RemoteTarget.__new__(RemoteTarget)
    RemoteStore.__init__(target, f"s3://{BUCKET}/kms")
    alter(proxy, change)
    if encryption is None:
        with pytest.raises(OSError, match="arrived with other bytes"):
            target.put("a", b"1")
        return
    target.put("a", b"1")
    proxy.clear()
    target.put("b", b"2")
    assert [request.method for request in proxy.requests] == ["PUT"]


@pytest.mark.parametrize(
    "options",
    [
        {"requester_pays": True},
        {"s3_additional_kwargs": {"ServerSideEncryption": "AES256"}},
        {"version_aware": True},
        {"cache_regions": True},
        {"client_kwargs": {"verify": False}},
        {"config_kwargs": {"signature_version": "s3"}},
        {"config_kwargs": {"proxies": {"http": "http://127.0.0.1:9"}}},
        {"config_kwargs": {"s3": {"payload_signing_enabled": True}}},
    ],
    ids=str,
)
def test_options_without_an_equal_stay_with_s3fs(options: dict[str, Any]) -> None:
    assert quick_requests._find_requests(connect(**options).system) is None


def test_other_file_systems_stay_with_their_library() -> None:
    made = FileConnection("s3://b/k", make_system=lambda _: fsspec.filesystem("memory"))
    assert quick_requests._find_requests(made.system) is None
    assert quick_requests._find_requests(object()) is None


@pytest.mark.usefixtures("objects")
@pytest.mark.parametrize(
    ("name", "value"), [("AWS_PROXY_URL", "http://127.0.0.1:9"), ("AWS_CHECKSUM_ALGORITHM", "SHA256")]
)
def test_variables_of_obstore_alone_change_nothing(
    proxy: Proxy, calls: list[str], monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    for _ in range(2):
        assert connect("quick").call("cat_file", "k") == DATA
    assert calls == ["get_object"] * 2


@pytest.mark.usefixtures("objects", "proxy")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("AWS_SKIP_SIGNATURE", "true"),
        ("AWS_ENDPOINT_URL_S3", ""),
        ("AWS_ENDPOINT", "http://127.0.0.1:9"),
        ("AWS_REQUEST_PAYER", "true"),
        ("AWS_VIRTUAL_HOSTED_STYLE_REQUEST", "true"),
    ],
)
def test_other_variables_are_overruled(
    calls: list[str], monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    assert connect("quick").call("cat_file", "k") == DATA
    assert calls == []


@pytest.mark.usefixtures("objects")
def test_credentials_of_options_profiles_and_variables_are_those_of_s3fs(
    s3: S3, calls: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL")
    key, secret, address = (s3.environment[name] for name in names)
    for name in names:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SESSION_TOKEN", "of other credentials")
    options: list[dict[str, Any]] = [
        {"key": key, "secret": secret, "endpoint_url": address},
        {"username": key, "password": secret, "client_kwargs": {"endpoint_url": address, "region_name": "us-west-2"}},
    ]
    for each in options:
        assert connect("quick", **each).call("cat_file", "k") == DATA
    assert len(calls) == len(options)  # the token cannot be taken back from obstore
    monkeypatch.delenv("AWS_SESSION_TOKEN")
    file = tmp_path / "credentials"
    file.write_text(f"[other]\naws_access_key_id = {key}\naws_secret_access_key = {secret}\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(file))
    calls.clear()
    for each in [*options, {"profile": "other", "endpoint_url": address}]:
        monkeypatch.setattr(connections, "_shared", connections.BoundedCache(1))
        assert connect("quick", **each).call("cat_file", "k") == DATA
    assert calls == []


class Changing:
    """Temporary credentials that change."""

    def __init__(self, frozen: Any) -> None:
        self.frozen = frozen

    async def get_frozen_credentials(self) -> Any:
        return self.frozen


@pytest.mark.usefixtures("objects")
def test_credentials_that_change_are_those_of_the_next_request(proxy: Proxy, calls: list[str]) -> None:
    place = connect("quick")
    place.call("cat_file", "k")
    system: Any = place.system
    known = system._s3._request_signer._credentials
    right = fsspec.asyn.sync(system.loop, known.get_frozen_credentials)
    changing = Changing(right._replace(secret_key="hush"))
    system._s3._request_signer._credentials = changing
    calls.clear()
    with pytest.raises(PermissionError, match="signature"):
        place.call("cat_file", "k")
    assert calls == ["get_object"]
    changing.frozen = right
    assert place.call("cat_file", "k") == DATA
    assert calls == ["get_object"]


FORK = f"""
import os, signal, sys
from nczarr.plugins.remote import quick_requests
from nczarr.plugins.remote.connection import FileConnection
place, used = FileConnection("s3://{BUCKET}/quick"), sys.argv[1] == "used"
if used:
    place.call("cat_file", "k")
    assert quick_requests._find_requests(place.system) is not None
if not os.fork():
    signal.alarm(60)
    assert len(place.call("cat_file", "k")) == {len(DATA)}
    assert (quick_requests._find_requests(place.system) is None) is used
    os._exit(0)
sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
"""


@pytest.mark.usefixtures("objects")
@pytest.mark.parametrize("before", ["used", "unused"])
def test_forked_processes_read(s3: S3, before: str) -> None:
    environment = {**s3.environment, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"}
    done = subprocess.run([sys.executable, "-c", FORK, before], env=environment, capture_output=True, timeout=120)
    assert (done.returncode, done.stderr.decode()) == (0, "")


@pytest.mark.usefixtures("objects", "proxy")
def test_connections_pickle_after_use(calls: list[str]) -> None:
    place = connect("quick")
    place.call("cat_file", "k")
    again = pickle.loads(pickle.dumps(place))
    pickle.dumps(place.system)
    assert again.call("cat_file", "k") == DATA
    assert calls == []


def test_processes_end_cleanly(s3: S3, objects: None) -> None:
    program = f"""
from concurrent.futures import ThreadPoolExecutor
from nczarr.plugins.remote.connection import FileConnection
place = FileConnection("s3://{BUCKET}/quick")
with ThreadPoolExecutor(8) as threads:
    list(threads.map(lambda _: place.call("cat_file", "k"), range(40)))
"""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, timeout=120)
    assert (done.returncode, done.stderr.decode()) == (0, "")
