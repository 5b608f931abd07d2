"""`nczarr serve ROOT`: serve datasets over HTTP, read-only, until a signal."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from nczarr.cli.parser import ARGUMENTS, LIMITS, NETWORK, Command, command, following_of, integer, size, storage_of
from nczarr.cli.shared import Messages
from nczarr.cli.streams import write_product

if TYPE_CHECKING:
    from nczarr.serve.application import Application
    from nczarr.serve.limits import Limits

LOOPBACK = "127.0.0.1"
PORT = integer(0, 65535, "a port, 0 to 65535")
COUNT = integer(1, 65536, "a number from 1 to 65536")
SWEEPING = (2000, 10, 10)
"""Thresholds of the garbage collector: commands disable it, but a server would accumulate reference cycles."""

DESCRIPTION = (
    "Serve every dataset below ROOT over HTTP, read-only and in any format: as Zarr v2 and v3 (/zarr2/PATH, "
    "/zarr3/PATH), by CDM Remote (/cdmremote/PATH), and as pages for browsers (/). The URL is printed when the server "
    "is ready."
)

EXAMPLES = (
    ("serve a folder to programs on this machine", "serve data"),
    ("serve one file on another port", "serve ocean.nc --port 8080"),
)


def parser() -> Command:
    """Return the parser of `serve`."""
    made = command("serve", "[OPTION]… ROOT", DESCRIPTION, EXAMPLES)
    made.option(ARGUMENTS, "root", metavar="ROOT", help="folder of datasets, or one dataset")
    made.option(
        NETWORK,
        "--host",
        default=LOOPBACK,
        metavar="ADDRESS",
        help=f"address to listen at (default: {LOOPBACK}, which only this machine reaches)",
    )
    made.option(
        NETWORK,
        "--port",
        type=PORT,
        default=8000,
        metavar="N",
        help="port to listen at; 0 chooses a free one (default: 8000)",
    )
    made.option(
        NETWORK,
        "--origin",
        action="append",
        metavar="ORIGIN",
        help="origin whose pages may read answers in a browser: https://a.org, `*` or `none`; repeatable (default: "
        "pages of this machine, or all pages with another --host)",
    )
    for name, (kind, metavar, text) in _LIMITS.items():
        made.option(LIMITS, f"--{name}", dest=name.removeprefix("max-"), type=kind, metavar=metavar, help=text)
    return made


def _seconds(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found <= 86400:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time in seconds, up to 86400")
    return found


_LIMITS: dict[str, tuple[Callable[[str], float], str, str]] = {
    "max-response": (size, "SIZE", "largest answer (default: 256MiB)"),
    "memory": (size, "SIZE", "memory for answers and open datasets (default: 1GiB)"),
    "spill": (size, "SIZE", "temporary files for slow clients (default: 4GiB)"),
    "concurrency": (COUNT, "N", "concurrent tasks (default: number of processors + 2, at most 16)"),
    "queue": (COUNT, "N", "waiting requests (default: 4096)"),
    "connections": (COUNT, "N", "connected clients; others wait (default: 2048)"),
    "timeout": (_seconds, "SECONDS", "time for a piece of work, and for a slow client (default: 60)"),
    "grace": (_seconds, "SECONDS", "time to finish answers when the server stops (default: 3)"),
}
"""Limits of the server by option: parser, metavar, help."""


def run(arguments: argparse.Namespace) -> int:
    """Serve until a signal: 0 after SIGTERM, 130 after SIGINT."""
    messages = Messages(arguments)
    return messages.guard(lambda: _serve(arguments, messages))


def limits_of(arguments: argparse.Namespace) -> Limits:
    """Return the requested limits."""
    from nczarr.serve.limits import Limits

    asked = {name: getattr(arguments, name, None) for name in Limits._fields}
    return Limits()._replace(**{name: value for name, value in asked.items() if value is not None})


def _application(arguments: argparse.Namespace) -> Application:
    """Return the application. Raises OSError if the root is unreachable."""
    from nczarr.serve.places import Root

    root = Root(arguments.root)  # a wrong folder is reported before the server is loaded
    from nczarr.serve import sockets
    from nczarr.serve.application import Application, to_stderr
    from nczarr.serve.dataset_cache import Shelf
    from nczarr.serve.routes import Routes
    from nczarr.serve.search_index import SearchIndex
    from nczarr.serve.sites import Sites
    from nczarr.serve.spool import Disk

    limits = limits_of(arguments)
    following = following_of(arguments)
    following = following._replace(roots=(root.home + os.sep, *following.roots), hidden=False)
    shelf = Shelf(limits, following, storage_of(arguments), most=sockets.datasets())
    sites = Sites.of(arguments.origin, arguments.host)
    routes = Routes(root, shelf, limits, Disk(limits.spill), SearchIndex(root, shelf.read))
    return Application(routes, sites, to_stderr if arguments.verbose else None)


def _announce(url: str) -> None:
    """Print the URL for programs that wait for it."""
    write_product([f"{url}\n".encode()])
    sys.stdout.flush()


def _serve(arguments: argparse.Namespace, messages: Messages) -> None:
    application = _application(arguments)
    from nczarr import registry
    from nczarr.serve import sockets
    from nczarr.serve.helpers import Helpers

    try:
        server = sockets.server(application, verbose=arguments.verbose)
    except ImportError:
        text = "`nczarr serve` needs `uvicorn`, which is not installed"
        messages.report.error("missing-library", text, helps=["run `pip install 'nczarr[serve]'`"])
        return
    gc.set_threshold(*SWEEPING)
    sockets.return_memory()
    socket = sockets.bound(arguments.host, arguments.port)
    helpers = Helpers(application.limits)
    for name in registry.having("isolates"):
        registry.load(registry.load(registry.ROWS[name]).isolates)(helpers.call)
    try:
        helpers.start()
        sockets.run(server, socket, lambda: _announce(sockets.url_of(socket)))
    finally:
        application.routes.searched.close()
        application.workers.close()
        helpers.close()
