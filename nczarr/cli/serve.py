"""`nczarr serve ROOT`: serve datasets over HTTP, read-only, until a signal."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from typing import TYPE_CHECKING

from nczarr.cli.shared import Messages, command, following_of, integer, size, storage_of
from nczarr.cli.streams import write_product

if TYPE_CHECKING:
    from nczarr.serve.application import Application
    from nczarr.serve.limits import Limits

LOOPBACK = "127.0.0.1"
PORT = integer(0, 65535, "port, 0 to 65535")
COUNT = integer(1, 65536, "number from 1 to 65536")
SWEEPING = (2000, 10, 10)
"""Thresholds of the garbage collector: commands disable it, but a server would accumulate reference cycles."""

DESCRIPTION = (
    "Serve every dataset below ROOT over HTTP, whatever its format: as Zarr v2 and v3 (/zarr2/PATH, /zarr3/PATH), by "
    "CDM Remote (/cdmremote/PATH), and as pages (/). Nothing is written. The URL is printed when the server is ready."
)


def parser() -> argparse.ArgumentParser:
    """Return the parser of `serve`."""
    made = command("serve", DESCRIPTION)
    made.add_argument("root", metavar="ROOT", help="a folder of datasets, or one dataset")
    made.add_argument("--host", default=LOOPBACK, help="address to listen at (default: this machine alone, 127.0.0.1)")
    made.add_argument("--port", type=PORT, default=8000, help="port to listen at; 0: a free one (default: 8000)")
    made.add_argument(
        "--origin",
        action="append",
        metavar="ORIGIN",
        help="whose pages may read answers in a browser: https://a.org, `*`, `none`; repeatable (default: those of "
        "this machine; with another --host all)",
    )
    limits = made.add_argument_group("limits")
    limits.add_argument(
        "--max-response", dest="response", type=size, metavar="SIZE", help="bytes of one answer (256MiB)"
    )
    limits.add_argument("--memory", type=size, metavar="SIZE", help="bytes of all answers, and of open datasets (1GiB)")
    limits.add_argument("--spill", type=size, metavar="SIZE", help="bytes of temporary files for slow clients (4GiB)")
    limits.add_argument("--concurrency", type=COUNT, metavar="N", help="pieces of work at once (2 + processors)")
    limits.add_argument("--queue", type=COUNT, metavar="N", help="requests that may wait for that (4096)")
    limits.add_argument("--connections", type=COUNT, metavar="N", help="clients at once; others wait (2048)")
    limits.add_argument(
        "--timeout", type=_seconds, metavar="SECONDS", help="for a piece of work, and for slow clients (60)"
    )
    limits.add_argument(
        "--grace", type=_seconds, metavar="SECONDS", help="for answers that have begun when the server ends (3)"
    )
    return made


def _seconds(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found <= 86400:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time in seconds from 1 to 86400")
    return found


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
    from nczarr.serve import sockets
    from nczarr.serve.application import Application, to_stderr
    from nczarr.serve.dataset_cache import Shelf
    from nczarr.serve.places import Root
    from nczarr.serve.routes import Routes
    from nczarr.serve.sites import Sites
    from nczarr.serve.spool import Disk

    limits = limits_of(arguments)
    root = Root(arguments.root)
    following = following_of(arguments)
    following = following._replace(roots=(root.home + os.sep, *following.roots), hidden=False)
    shelf = Shelf(limits, following, storage_of(arguments), most=sockets.datasets())
    sites = Sites.of(arguments.origin, arguments.host)
    return Application(Routes(root, shelf, limits, Disk(limits.spill)), sites, to_stderr if arguments.verbose else None)


def _serve(arguments: argparse.Namespace, messages: Messages) -> None:
    from nczarr import registry
    from nczarr.serve import sockets
    from nczarr.serve.helpers import Helpers

    application = _application(arguments)
    try:
        server = sockets.server(application, verbose=arguments.verbose)
    except ImportError:
        text = "`nczarr serve` needs `uvicorn`, which is not installed"
        messages.report.error("missing-library", text, helps=["run `pip install nczarr[serve]`"])
        return
    gc.set_threshold(*SWEEPING)
    sockets.return_memory()
    socket = sockets.bound(arguments.host, arguments.port)
    write_product([f"{sockets.url_of(socket)}\n".encode()])
    sys.stdout.flush()
    helpers = Helpers(application.limits)
    for name in registry.having("isolates"):
        registry.load(registry.load(registry.ROWS[name]).isolates)(helpers.call)
    try:
        helpers.start()
        sockets.run(server, socket)
    finally:
        application.workers.close()
        helpers.close()
