"""nginx and Caddy with the configurations in `deploy/`, and what stands behind them: an echo, a sign-in."""

from __future__ import annotations

import base64
import http.client
import json
import os
import re
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qs, quote, urlsplit

from tests.conftest import ROOT
from tests.support.serving import SECONDS, Reply

DEPLOY = ROOT / "deploy"
USER, PASSWORD = "ada", "p:ss wörd"
SESSION, TOKEN = "a-session", "a-token"
PROVIDER = "https://login.example.org/authorize"
EMAIL = "ada@example.org"
CHEAP = "$2b$04$abcdefghijklmnopqrstuuRy83sFrDCc/bnOGxnuNhVRD3NK54qoW"
"""Hash of the password that takes no time: those of `caddy hash-password` take a second of a processor."""


class Proxy(NamedTuple):
    """A running proxy: its port, the certificate to trust, its port without TLS (nginx), its log of accesses."""

    port: int
    certificate: Path
    plain_port: int | None = None
    log: Path | None = None

    @property
    def url(self) -> str:
        return f"https://localhost:{self.port}"

    def get(self, path: str, method: str = "GET", /, **headers: str) -> Reply:
        """Ask for a path, as it stands."""
        connection = self.connect()
        try:
            given = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, headers=given)
            found = connection.getresponse()
            return Reply(found.status, {name.lower(): value for name, value in found.headers.items()}, found.read())
        finally:
            connection.close()

    def connect(self) -> http.client.HTTPSConnection:
        context = ssl.create_default_context(cafile=self.certificate)
        return http.client.HTTPSConnection("localhost", self.port, timeout=SECONDS, context=context)


def basic(name: str = USER, password: str = PASSWORD) -> str:
    """Return the header of basic authentication."""
    return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode("ascii")


def find_free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def make_users(openssl: str, kind: str, path: Path) -> Path:
    """Write the file of names and passwords of a proxy."""
    hashed = f":{run(openssl, 'passwd', '-apr1', PASSWORD)}" if kind == "nginx" else f" {CHEAP}"
    path.write_text(f"{USER}{hashed}\n", encoding="ascii")
    return path


def make_certificate(openssl: str, folder: Path) -> tuple[Path, Path]:
    """Make a certificate of localhost, and its key."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    run(
        *(openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"),
        *("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"),
        *("-keyout", str(key), "-out", str(certificate)),
    )
    return certificate, key


def run(*command: str) -> str:
    """Return what a command prints."""
    return subprocess.run(command, capture_output=True, check=True, text=True, timeout=SECONDS).stdout.strip()


@contextmanager
def run_nginx(
    program: str, variant: str, folder: Path, server: int, sign_in: int, users: Path, pair: tuple[Path, Path]
) -> Iterator[Proxy]:
    """nginx with `deploy/nginx/VARIANT.conf`; only addresses and paths of files are replaced."""
    port, plain, log = find_free_port(), find_free_port(), folder / "access.log"
    text = (DEPLOY / "nginx" / f"{variant}.conf").read_text(encoding="utf-8")
    for old, new, count in (
        ("server 127.0.0.1:8000;", f"server 127.0.0.1:{server};", 1),
        ("server 127.0.0.1:4180;", f"server 127.0.0.1:{sign_in};", int(variant == "oidc")),
        ("listen 80;", f"listen 127.0.0.1:{plain};", 1),
        ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl", 1),
        ("/etc/letsencrypt/live/data.example.org/fullchain.pem", str(pair[0]), 1),
        ("/etc/letsencrypt/live/data.example.org/privkey.pem", str(pair[1]), 1),
        ("auth_basic_user_file /etc/nginx/nczarr.users", f"auth_basic_user_file {users}", int(variant == "basic-auth")),
        ("/var/log/nginx/nczarr.log", str(log), int(variant == "oidc")),
    ):
        assert text.count(old) == count, (old, variant)
        text = text.replace(old, new)
    (folder / "site.conf").write_text(text, encoding="utf-8")
    (folder / "nczarr-proxy.conf").write_bytes((DEPLOY / "nginx" / "nczarr-proxy.conf").read_bytes())
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    folders = "".join(f"{kind}_temp_path {folder / kind};\n" for kind in kinds)
    user = "user root;\n" if os.getuid() == 0 else ""
    main = (
        f"{user}daemon off;\npid {folder / 'pid'};\nerror_log {folder / 'error.log'};\nevents {{}}\n"
        f"http {{\naccess_log off;\n{folders}include {folder / 'site.conf'};\n}}\n"
    )
    (folder / "nginx.conf").write_text(main, encoding="utf-8")
    command = [program, "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", str(folder / "error.log")]
    with _running(command, port, folder / "error.log", {}):
        yield Proxy(port, pair[0], plain, log)


@contextmanager
def run_caddy(program: str, variant: str, folder: Path, server: int, sign_in: int, users: Path) -> Iterator[Proxy]:
    """Caddy with a file of `deploy/caddy`, addresses by its variables, and a certificate of an authority of its own."""
    port = find_free_port()
    name = "Caddyfile" if variant == "nczarr" else f"{variant}.Caddyfile"
    text = (
        "{\n\tadmin off\n\tlocal_certs\n\tskip_install_trust\n\tauto_https disable_redirects\n"
        f"\tstorage file_system {folder / 'storage'}\n}}\nimport {DEPLOY / 'caddy' / name}\n"
    )
    (folder / "Caddyfile").write_text(text, encoding="utf-8")
    environment = {
        "SITE": f"https://localhost:{port}",
        "SERVER": f"127.0.0.1:{server}",
        "OAUTH2_PROXY": f"127.0.0.1:{sign_in}",
        "USERS": str(users),
        "XDG_CONFIG_HOME": str(folder),
        "XDG_DATA_HOME": str(folder),
    }
    command = [program, "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]
    root = folder / "storage" / "pki" / "authorities" / "local" / "root.crt"
    with _running(command, port, folder / "error.log", environment):
        yield Proxy(port, root)


@contextmanager
def _running(command: list[str], port: int, log: Path, environment: Mapping[str, str]) -> Iterator[None]:
    with (
        log.open("ab") as errors,
        subprocess.Popen(command, stdout=errors, stderr=errors, env={**os.environ, **environment}) as process,
    ):
        try:
            _wait_for(port, lambda: process.poll() is None, log)
            yield
        finally:
            process.terminate()
            process.wait(SECONDS)


def _wait_for(port: int, is_alive: Callable[[], bool], log: Path) -> None:
    """Wait until a proxy shows a certificate on a port."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # only whether it answers
    for _ in range(100 * SECONDS):
        if not is_alive():
            raise AssertionError(log.read_text(encoding="utf-8"))
        try:
            with (
                socket.create_connection(("127.0.0.1", port), timeout=SECONDS) as line,
                context.wrap_socket(line, server_hostname="localhost"),
            ):
                return
        except OSError:  # not yet
            time.sleep(0.01)
    raise AssertionError(log.read_text(encoding="utf-8"))


class _Quiet(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: object) -> None:
        pass

    def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Echo(ThreadingHTTPServer):
    """A server in the place of ours: answers with target and headers of the request; `/archive/slow` in two halves.

    The second half is not sent before `may_go_on` is set, or long after: a client behind a proxy that buffers answers
    does not see the first half before.
    """

    HALF = 100
    """Bytes of a half: no proxy sends so few of its own accord."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _EchoHandler)
        self.may_go_on = threading.Event()
        self.went_on = False


class _EchoHandler(_Quiet):
    server: Echo

    def do_GET(self) -> None:
        if self.path == "/archive/slow":
            self.send_response(200)
            self.send_header("Content-Length", str(2 * Echo.HALF))
            self.end_headers()
            self.wfile.write(bytes(Echo.HALF))
            self.server.went_on = self.server.may_go_on.wait(SECONDS / 3)
            self.wfile.write(bytes(Echo.HALF))
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.answer(200, json.dumps({"target": self.path, "headers": headers}).encode())


class SignIn(ThreadingHTTPServer):
    """A server in the place of oauth2-proxy: the same paths and statuses, one session, one token, a provider by name.

    It says the address of the user, and never a name: what the server behind the proxy sees as name is of the client.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _SignInHandler)
        self.asked: list[dict[str, str]] = []


class _SignInHandler(_Quiet):
    server: SignIn

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        if url.path == "/oauth2/auth":
            self.server.asked.append({name.lower(): value for name, value in self.headers.items()})
            session = re.search(r"(?:^|; )_oauth2_proxy=([^;]*)", self.headers.get("Cookie", ""))
            if (session and session[1] == SESSION) or self.headers.get("Authorization") == f"Bearer {TOKEN}":
                self.answer(202, X_Auth_Request_Email=EMAIL)
            else:
                self.answer(401, b"Unauthorized")
        elif url.path == "/oauth2/start":
            target = parse_qs(url.query).get("rd", [self.headers.get("X-Auth-Request-Redirect", "/")])[0]
            self.answer(302, Location=f"{PROVIDER}?state={quote(target, safe='')}", Set_Cookie="_oauth2_proxy_csrf=c")
        elif url.path == "/oauth2/callback":
            cookie = f"_oauth2_proxy={SESSION}; Path=/; HttpOnly; Secure; SameSite=Lax"
            self.answer(302, Location=parse_qs(url.query)["state"][0], Set_Cookie=cookie)
        else:
            self.answer(404)


@contextmanager
def listening(server: ThreadingHTTPServer) -> Iterator[int]:
    """Answer requests in a thread for as long as the block takes: the port."""
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
