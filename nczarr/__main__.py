"""`python -m nczarr` and the command `nczarr`: almost nothing is imported before it is known what is wanted."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line (`sys.argv` by default) and return its exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given == ["--version"]:
        from nczarr import __version__

        sys.stdout.write(f"nczarr {__version__}\n")
        return 0
    from nczarr.cli import run

    return run(given)


def without_plugins() -> None:
    """Let pydantic look for no plug-ins: it would read the metadata of every installed package.

    The module that looks costs a short run a fifteenth even when it is told not to, for what it imports (row E2); so
    one that finds none stands in for it. Whatever else is asked of it is asked of the real one.
    """
    import os
    from types import ModuleType

    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    name = "pydantic.plugin._loader"
    if name in sys.modules:
        return
    stand_in = ModuleType(name)

    def real(wanted: str) -> object:
        from importlib import import_module

        if wanted.startswith("__"):  # the import system asks whether it is a package
            raise AttributeError(wanted)
        if sys.modules.get(name) is stand_in:
            del sys.modules[name]
        return getattr(import_module(name), wanted)

    stand_in.__dict__.update(get_plugins=tuple, __getattr__=real)
    sys.modules[name] = stand_in


def hear_signals() -> None:
    """Let the signals that ask a process to end do what Ctrl-C does, unless they are ignored: what was begun is removed
    or left to be gone on with, and fetched files are removed. Requests to a server that does not answer are given up.
    A call of the HDF5 library that does not return ends with the process (nczarr/cli/watchdog.py).
    """
    import signal

    from nczarr.cli.watchdog import watch

    heard = []

    def interrupt(*_: object) -> None:
        asking = sys.modules.get("nczarr.stores.store_request")
        if asking is not None:
            asking.give_up()
        raise KeyboardInterrupt

    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, interrupt)
            heard.append(int(number))
    watch(heard)


def process() -> None:
    """Run this process's command line, and end the process.

    A process that lives for a tenth of a second should not spend a fifth of it on looking for cyclic garbage among
    freshly imported modules, nor on taking them down one by one: nothing is left to do once the streams are flushed.
    """
    import gc
    import os

    without_plugins()
    gc.set_threshold(1_000_000, 20, 20)
    if None in (sys.stdin, sys.stdout, sys.stderr):
        from nczarr.cli.streams import complete

        complete()
    if sys.argv[1:] != ["--version"]:
        hear_signals()
    try:
        status = main()
    except KeyboardInterrupt:
        status = 130
    except OSError as error:  # of a standard stream; those of files are diagnostics
        status = 0 if isinstance(error, BrokenPipeError) else 3
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            pass  # the reader went away; the status stands
        except OSError:
            status = status or 3
    os._exit(status)


if __name__ == "__main__":
    process()
