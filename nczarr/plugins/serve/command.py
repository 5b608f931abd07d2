"""`nczarr serve ROOT`: serve datasets over HTTP, read-only, until a signal."""

from __future__ import annotations

import argparse
import gc
import importlib.util
import os
import re
import signal
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from nczarr.cli import write_product
from nczarr.cli.options import options_of
from nczarr.cli.parser import Command, integer, size
from nczarr.cli.shared import Messages
from nczarr.options import ARGUMENTS, LIMITS, NETWORK, READING, REPORTING, RUN

if TYPE_CHECKING:
    from socket import socket

    from nczarr.plugins.serve.application import Application
    from nczarr.plugins.serve.metrics import Destination, Metrics
    from nczarr.plugins.serve.places import Root
    from nczarr.plugins.serve.resources import Limits

LOOPBACK = "127.0.0.1"
PORT = integer(0, 65535, "a port, 0 to 65535")
COUNT = integer(1, 65536, "a number from 1 to 65536")
SWEEPING = (2000, 10, 10)
"""Thresholds of the garbage collector: commands disable it, but a server would accumulate reference cycles."""

DESCRIPTION = (
    "Serve every dataset below ROOT over HTTP, read-only and in any format: as pages for browsers (/), as Zarr v2 and "
    "v3 (/zarr2/PATH, /zarr3/PATH), by OPeNDAP (/dap2/PATH, /dap4/PATH), by CDM Remote (/cdmremote/PATH), as griddap "
    "of ERDDAP (/erddap/griddap/PATH), and as a THREDDS catalog (/catalog/catalog.xml). The URL is printed when the "
    "server is ready."
)

EXAMPLES = (
    ("serve a folder to programs on this machine", "serve data"),
    ("serve one file on another port", "serve ocean.nc --port 8080"),
)


def parser() -> Command:
    """Return the parser of `serve`."""
    subparser = Command("serve", "[OPTION]… ROOT", DESCRIPTION, EXAMPLES)
    subparser.option(ARGUMENTS, "root", metavar="ROOT", help="folder of datasets, or one dataset")
    subparser.option(
        NETWORK,
        "--host",
        default=LOOPBACK,
        metavar="ADDRESS",
        help=f"address to listen at (default: {LOOPBACK}, which only this machine reaches)",
    )
    subparser.option(
        NETWORK,
        "--port",
        type=PORT,
        default=8000,
        metavar="N",
        help="port to listen at; 0 chooses a free one (default: 8000)",
    )
    subparser.option(
        NETWORK,
        "--origin",
        action="append",
        metavar="ORIGIN",
        help="origin whose pages may read answers in a browser: https://a.org, `*` or `none`; repeatable (default: "
        "pages of this machine, or all pages with another --host)",
    )
    subparser.option(
        NETWORK,
        "--root-path",
        type=_base,
        metavar="URL",
        help="path or URL at which a reverse proxy offers the server: /data or https://a.org/data; a path alone "
        "allows no other host name (--origin does)",
    )
    subparser.option(
        RUN,
        "--processes",
        type=_processes,
        default=1,
        metavar="N",
        help="processes that answer clients, which share memory and other limits (default: 1)",
    )
    subparser.option(
        RUN,
        "--access-log",
        type=_parse_destination,
        metavar="FORMAT",
        help="log a line for each request, `common` or `json`, to standard error, or with `:FILE` to a file; SIGHUP "
        "opens the file again",
    )
    for name, (kind, metavar, text) in _LIMITS.items():
        subparser.option(
            LIMITS, f"--{name}", common=False, dest=name.removeprefix("max-"), type=kind, metavar=metavar, help=text
        )
    return subparser.complete(READING, REPORTING)


def _processes(text: str) -> int:
    count = integer(1, 64, "a number from 1 to 64")(text)
    if count > 1 and not hasattr(os, "fork"):
        raise argparse.ArgumentTypeError("several processes need a system that can fork them")
    return count


def _parse_destination(text: str) -> Destination:
    from nczarr.plugins.serve.metrics import Destination

    try:
        return Destination.of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _base(text: str) -> tuple[str | None, str]:
    """Return scheme and host, if the text has them, and the path without a slash at its end."""
    match_of_base = _BASE.fullmatch(text)
    if match_of_base is None:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a path like /data nor a URL like https://a.org/data")
    return match_of_base[1], match_of_base[2] or ""


_BASE = re.compile(r"(https?://[A-Za-z0-9.:\[\]-]+)?((?:/[A-Za-z0-9._~-]+)*)/?")
"""Base of URLs: scheme and host, path."""


def _parse_seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 86400:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time in seconds, up to 86400")
    return seconds


_LIMITS: dict[str, tuple[Callable[[str], float], str, str]] = {
    "max-response": (size, "SIZE", "largest answer (default: 256MiB)"),
    "memory": (size, "SIZE", "memory for answers and open datasets (default: 1GiB)"),
    "spill": (size, "SIZE", "temporary files for slow clients (default: 4GiB)"),
    "concurrency": (COUNT, "N", "concurrent tasks (default: number of processors + 2, at most 16)"),
    "queue": (COUNT, "N", "waiting requests (default: 4096)"),
    "connections": (COUNT, "N", "connected clients; others wait (default: 2048)"),
    "timeout": (_parse_seconds, "SECONDS", "time for a piece of work, and for a slow client (default: 60)"),
    "grace": (_parse_seconds, "SECONDS", "time to finish answers when the server stops (default: 3)"),
}
"""Limits of the server by option: parser, metavar, help."""


def run(arguments: argparse.Namespace) -> int:
    """Serve until a signal: 0 after SIGTERM, 130 after SIGINT."""
    messages = Messages(arguments)
    return messages.guard(lambda: _serve(arguments, messages))


def limits_of(arguments: argparse.Namespace) -> Limits:
    """Return the requested limits."""
    from nczarr.plugins.serve.resources import Limits

    asked = {name: getattr(arguments, name, None) for name in Limits._fields}
    limits = Limits()._replace(**{name: value for name, value in asked.items() if value is not None})
    count = arguments.processes
    shared = {name: max(1, getattr(limits, name) // count) for name in ("memory", "spill", "connections", "queue")}
    return limits if count == 1 else limits._replace(**shared)


def _application(arguments: argparse.Namespace, root: Root, metrics: Metrics) -> Application:
    """Return the application. Raises OSError if its log cannot be written."""
    from nczarr.plugins.serve import sockets
    from nczarr.plugins.serve.application import Application, to_stderr
    from nczarr.plugins.serve.context import ServerContext
    from nczarr.plugins.serve.dataset_cache import Shelf
    from nczarr.plugins.serve.metrics import AccessLog
    from nczarr.plugins.serve.request import Sites, set_base
    from nczarr.plugins.serve.resources import Disk
    from nczarr.plugins.serve.search_index import SearchIndex

    limits = limits_of(arguments)
    options = options_of(arguments)
    following = options.reading.following
    following = following._replace(roots=(root.home + os.sep, *following.roots), hidden=False)
    disk = Disk(limits.spill)
    shelf = Shelf(limits, following, options.run.storage, most=sockets.datasets(), disk=disk)
    sites = Sites.of(arguments.origin, arguments.host)
    public, base = arguments.root_path or (None, "")
    set_base(base)
    if public is not None:
        sites = sites._replace(origins=sites.origins | {public})
    access = None if arguments.access_log is None else AccessLog(arguments.access_log)
    if access is not None and arguments.processes == 1 and hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, lambda number, frame: access.reopen())
    context = ServerContext(root, shelf, limits, disk, SearchIndex(root, shelf.read))
    return Application(context, sites, to_stderr if arguments.verbose else None, metrics, access, public)


def _announce(url: str) -> None:
    """Print the URL for programs that wait for it."""
    write_product([f"{url}\n".encode()])
    sys.stdout.flush()


def _serve(arguments: argparse.Namespace, messages: Messages) -> None:
    from nczarr.plugins.serve.places import Root

    root = Root(arguments.root)  # a wrong folder is reported before the server is loaded
    missing = next(
        (name for name in ("uvicorn", "starlette", "jinja2") if importlib.util.find_spec(name) is None), None
    )
    if missing is not None:
        text = f"`nczarr serve` needs `{missing}`, which is not installed"
        messages.report.error("missing-library", text, helps=["run `pip install 'nczarr[serve]'`"])
        return
    if root.only and not _is_dataset(root, arguments, messages):
        return
    count = arguments.processes
    from nczarr.plugins.serve.application import list_routes
    from nczarr.plugins.serve.metrics import AccessLog, Metrics
    from nczarr.plugins.serve.sockets import bind_socket, url_of

    if arguments.access_log is not None:
        AccessLog(arguments.access_log)
    socket = bind_socket(arguments.host, arguments.port)
    metrics = Metrics([row.name for row in list_routes()], count)

    def announce() -> None:
        _announce(url_of(socket))

    if not _can_supervise():
        metrics.use(0)
        _answer(arguments, root, metrics, socket, announce)
        return
    from nczarr.plugins.serve.processes import Supervisor

    def work(row: int, ready: Callable[[], None]) -> None:
        metrics.use(row)
        _answer(arguments, root, metrics, socket, ready)

    Supervisor(count, limits_of(arguments).grace, work).run(announce)


def _is_dataset(root: Root, arguments: argparse.Namespace, messages: Messages) -> bool:
    """Return whether a single file or store is in a format that can be read; report it if not. Raises OSError."""
    from nczarr.pipeline import endpoints
    from nczarr.pipeline.unknown_format import report_unknown_format
    from nczarr.plugins.serve.dataset_cache import format_of

    source = endpoints.open_source(root.real, messages.report, options_of(arguments))
    if source is None or format_of(source) is not None:
        return source is not None
    report_unknown_format(source, messages.report)
    return False


def _can_supervise() -> bool:
    """Return whether this process can start others that answer clients, and hear signals for them."""
    return hasattr(os, "fork") and threading.current_thread() is threading.main_thread()


def _answer(
    arguments: argparse.Namespace, root: Root, metrics: Metrics, socket: socket, announce: Callable[[], None]
) -> None:
    """Answer the clients of a socket until a signal."""
    from nczarr import registry
    from nczarr.plugins.serve import sockets
    from nczarr.plugins.serve.helpers import Helpers
    from nczarr.stores.open import MAPS_NO_FILES

    application = _application(arguments, root, metrics)
    server = sockets.server(application, verbose=arguments.verbose)
    gc.set_threshold(*SWEEPING)
    sockets.return_memory()
    MAPS_NO_FILES.set()
    helpers = Helpers(application.limits)
    for name in registry.list_names_with("reading.isolates"):
        registry.load(registry.load(registry.ROWS[name]).reading.isolates)(helpers.call)
    try:
        helpers.start()
        sockets.run(server, socket, announce)
    finally:
        application.context.searched.close()
        application.workers.close()
        helpers.close()
