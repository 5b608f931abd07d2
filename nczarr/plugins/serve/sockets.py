"""Sockets, connections and signals: uvicorn with this server's limits.

Idle connections and slow requests time out. Connections above the limit wait in
the system's queue. A connection's buffer is empty before the next piece of an
answer enters it, so unsent data are never in memory twice.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, Any

from nczarr.plugins.serve.application import Application, to_stderr
from nczarr.plugins.serve.resources import Limits

if TYPE_CHECKING:
    from uvicorn import Server

IDLE = 10
"""Seconds that a connection may be idle."""

HEAD = 1 << 14
"""Maximum bytes of a request line and headers."""

BACKLOG = 2048
"""Connections queued by the system."""

NEW, PAUSE = 0.5, 0.02
"""Seconds that a server which stops waits for the first requests of clients that have connected, in steps."""

SPARE = 128
"""Open files reserved for other uses than connections."""

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""Option numbers in malloc.h."""

MAPPED = 2 << 20
"""Bytes of a memory block that malloc maps separately and returns when it is freed."""

KEPT = 4 << 20
"""Freed bytes that malloc keeps for the next pieces of answers; the system clears memory that it gives anew."""


def bind_socket(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 selects a free one. Raises OSError with host and port."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, place = found[0]
        made = socket.socket(family, kind, protocol)
        try:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind(place)
            made.listen(BACKLOG)
        except BaseException:
            made.close()
            raise
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), f"{host}:{port}") from None
    made.setblocking(False)
    return made


def url_of(listening: socket.socket) -> str:
    """Return the server's URL of a socket."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


class Listener:
    """Server with a gate that limits the number of clients."""

    def __init__(self, server: Server, gate: asyncio.Semaphore) -> None:
        self.server = server
        self.gate = gate
        self._loop: asyncio.AbstractEventLoop | None = None
        self._listening: socket.socket | None = None
        self._leaving: asyncio.Task[None] | None = None

    async def serve(self, listening: socket.socket) -> None:
        """Serve until the server is stopped."""
        self._loop, self._listening = asyncio.get_running_loop(), listening
        accepting = asyncio.ensure_future(self._accept(self._loop, listening))
        try:
            await self.server.serve(sockets=[])
        finally:
            accepting.cancel()
            listening.close()

    def leave(self) -> None:
        """Stop the server; signal handlers may call it. Clients get their answers, unless it is called again."""
        if self._leaving is not None:
            self.server.force_exit = True
        if self._loop is None:
            self.server.should_exit = True
        else:
            self._loop.call_soon_threadsafe(self._leave, self._loop)

    def _leave(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._leaving is None:
            self._leaving = loop.create_task(self._stop_accepting(loop))

    async def _stop_accepting(self, loop: asyncio.AbstractEventLoop) -> None:
        """Accept no more clients, wait for the requests of new ones, and stop the server."""
        assert self._listening is not None
        loop.remove_reader(self._listening.fileno())  # who was accepted until now is served
        end = loop.time() + NEW
        await asyncio.sleep(PAUSE)  # until the last one has a connection
        while loop.time() < end and any(
            getattr(each, "cycle", self) is None for each in self.server.server_state.connections
        ):
            await asyncio.sleep(PAUSE)
        self.server.should_exit = True

    async def _accept(self, loop: asyncio.AbstractEventLoop, listening: socket.socket) -> None:
        """Accept clients one by one while there is room, until the server leaves."""
        while self._leaving is None:
            await self.gate.acquire()
            try:
                client, _ = await loop.sock_accept(listening)
            except OSError:  # the client has gone, or there are no more files: that passes
                self.gate.release()
                await asyncio.sleep(0.1)
                continue
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            try:
                await loop.connect_accepted_socket(self._connection, client)
            except OSError:
                client.close()
                self.gate.release()

    def _connection(self) -> asyncio.Protocol:
        config = self.server.config
        found: asyncio.Protocol = config.http_protocol_class(  # type: ignore[call-arg]
            config=config, server_state=self.server.server_state, app_state={}
        )
        return found


def files() -> int:
    """Raise the limit of open files as far as allowed, and return it."""
    try:
        import resource
    except ImportError:  # Windows
        return 512
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 65536 if hard == resource.RLIM_INFINITY else hard
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
    return max(2 * SPARE, wanted if soft == resource.RLIM_INFINITY else soft)


def datasets() -> int:
    """Return the maximum of open datasets, at two files each, that leaves as many files for clients."""
    return files() // 4


def return_memory() -> None:
    """Make the C library of Linux return large freed blocks to the system at once.

    By default it retains blocks of up to 32 MiB per thread after one of their
    size was freed.
    """
    if sys.platform == "linux":
        import ctypes

        with suppress(OSError, AttributeError):  # another C library
            library = ctypes.CDLL(None)
            library.mallopt(M_MMAP_THRESHOLD, MAPPED)
            library.mallopt(M_TRIM_THRESHOLD, KEPT)


def server(application: Application, *, verbose: bool = False) -> Listener:
    """Return the uvicorn server of an application. Raises ImportError without uvicorn."""
    import uvicorn

    logger = logging.getLogger("uvicorn.error")
    logger.handlers[:] = [_Handler()] if verbose else [logging.NullHandler()]
    logger.propagate = False
    logger.setLevel(logging.WARNING)
    limits = application.limits
    gate = asyncio.Semaphore(min(limits.connections, files() - 2 * datasets() - SPARE // 2))
    config = uvicorn.Config(
        application,
        http=_protocol(limits, gate),
        ws="none",
        loop="asyncio",
        interface="asgi3",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=IDLE,
        timeout_graceful_shutdown=max(1, round(limits.grace)),
        h11_max_incomplete_event_size=HEAD,
    )
    if not config.loaded:
        config.load()

    class Quiet(uvicorn.Server):
        """Server that leaves signals to us."""

        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield

    return Listener(Quiet(config), gate)


class _Handler(logging.Handler):
    """Log handler that forwards uvicorn's messages without tracebacks."""

    def emit(self, record: logging.LogRecord) -> None:
        to_stderr(f"{record.levelname.lower()}: {record.getMessage().strip()}")


def _protocol(limits: Limits, gate: asyncio.Semaphore) -> type[asyncio.Protocol]:
    """Return the connection protocol with the limits of this server; closing a connection opens the gate."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class SocketConnection(H11Protocol):
        """One connection."""

        patience: asyncio.TimerHandle | None = None
        ended = False

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            transport.set_write_buffer_limits(high=0)
            if hasattr(transport, "max_size"):
                transport.max_size = HEAD  # of requests that wait in a pipeline, not more than one read is in memory
            self.app = _with_connection(self.app, transport.abort, lambda: not self.flow.write_paused)
            self._wait()

        def connection_lost(self, exc: Exception | None) -> None:
            self._unwait()
            super().connection_lost(exc)
            gate.release()

        def eof_received(self) -> bool:  # type: ignore[override]
            """Let a client that has finished sending receive its answers."""
            self.ended = True
            return self._busy

        def handle_events(self) -> None:
            super().handle_events()
            if self._busy:
                self._unwait()

        def on_response_complete(self) -> None:
            self._wait()
            super().on_response_complete()
            if self.ended and not self._busy:
                self.transport.close()

        @property
        def _busy(self) -> bool:
            return self.cycle is not None and not self.cycle.response_complete

        def _wait(self) -> None:
            """Start the time limit for a request, or for the rest of an answer."""
            self._unwait()
            self.patience = self.loop.call_later(limits.timeout, self._give_up)

        def _unwait(self) -> None:
            if self.patience is not None:
                self.patience.cancel()
                self.patience = None

        def _give_up(self) -> None:
            if not self._busy:
                self.transport.abort()

    return SocketConnection


def _with_connection(app: Any, abort: Callable[[], None], has_room: Callable[[], bool]) -> Any:
    """Return the application with what it needs to know of its connection in the scopes of requests."""

    async def with_connection(scope: dict[str, Any], receive: Any, send: Any) -> None:
        await app({**scope, "abort": abort, "has_room": has_room}, receive, send)

    return with_connection


def run(made: Listener, listening: socket.socket, announce: Callable[[], None]) -> None:
    """Serve until SIGTERM, or until SIGINT, which raises KeyboardInterrupt.

    Calls `announce` when signals are handled and connections are accepted.
    Inherited signal settings are ignored: shells make background processes
    ignore SIGINT.
    """
    heard: set[int] = set()

    def end_run(number: int, frame: FrameType | None) -> None:
        """Stop the server."""
        heard.add(number)
        made.leave()

    numbers = (signal.SIGTERM, signal.SIGINT) if threading.current_thread() is threading.main_thread() else ()
    before = {number: signal.signal(number, end_run) for number in numbers}
    watched = signal.set_wakeup_fd(-1) if numbers else -1  # this thread calls no library: it hears signals itself
    try:
        announce()
        asyncio.run(made.serve(listening))
    finally:
        if numbers:
            signal.set_wakeup_fd(watched)
        for number, handler in before.items():
            signal.signal(number, handler)
    if signal.SIGINT in heard:
        raise KeyboardInterrupt
