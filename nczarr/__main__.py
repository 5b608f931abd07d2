"""`python -m nczarr` and the command `nczarr`: imports are delayed until the command is known."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line (`sys.argv` by default) and return its exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words == ["--version"]:
        from nczarr import __version__

        sys.stdout.write(f"nczarr {__version__}\n")
        return 0
    from nczarr.cli import run

    return run(words)


def hear_signals() -> None:
    """Make termination signals act like Ctrl-C, unless ignored: started work is removed or remains resumable.

    Fetched files are removed, and requests to an unresponsive server are
    cancelled. A hanging call of the HDF5 library ends with the process
    (nczarr/cli/watchdog.py).
    """
    import signal

    from nczarr.cli.watchdog import watch

    heard = []

    def interrupt(*_: object) -> None:
        remote = sys.modules.get("nczarr.stores.places")
        for give_up in () if remote is None else remote.at_interrupt:
            give_up()
        raise KeyboardInterrupt

    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, interrupt)
            heard.append(int(number))
    watch(heard)


def process() -> None:
    """Run this process's command line, and end the process.

    A process of a tenth of a second would spend a fifth of it on garbage
    collection among imported modules and on their teardown; both are skipped,
    because only the streams must be flushed.
    """
    import gc
    import os

    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # searching them reads the metadata of all packages
    # 2**4 cycles: OpenBLAS, which NumPy starts and nothing here calls, else keeps a processor busy for 0.1 s
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
    gc.set_threshold(1_000_000, 20, 20)
    if None in (sys.stdin, sys.stdout, sys.stderr):
        from nczarr.cli import replace_closed_streams

        replace_closed_streams()
    if sys.argv[1:] != ["--version"]:
        hear_signals()
    try:
        status = main()
    except KeyboardInterrupt:
        status = _settle(130)
    except OSError as error:  # of a standard stream; those of files are diagnostics
        status = 141 if isinstance(error, BrokenPipeError) else _settle(3)
    processes = sys.modules.get("nczarr.arrays.execution.processes")
    for end in () if processes is None else processes.at_exit:
        end()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            if stream is sys.stdout:
                status = status or 141  # the reader went away before it had all
        except OSError:
            status = status or _settle(3)
    os._exit(status)


def _settle(status: int) -> int:
    from nczarr.cli import settle

    return settle(status)


if __name__ == "__main__":
    process()
