"""Sources: the file or store at a path or URL, and its format."""

from __future__ import annotations

from nczarr import registry
from nczarr.diagnostics.report import Diagnostic, Report, Severity
from nczarr.diagnostics.secrets import shown
from nczarr.diagnostics.source import HEAD, Source
from nczarr.options import Options
from nczarr.registry import Format
from nczarr.stores.base import JOURNAL, ROOT_KEYS, Store
from nczarr.stores.url import BadURLError, Location, MissingProtocolError, location


def opened(path: str, report: Report, options: Options) -> Source | Store | None:
    """Return the file or store at a path or URL; None after an error. Raises OSError if it is unreachable."""
    from nczarr.stores.open import open_path

    place = located(path, report)
    if place is None:
        return None
    try:
        source = open_path(path, options.storage.of("source"), _is_ranged)
    except (BadURLError, MissingProtocolError) as error:
        unusable(path, error, report)
        return None
    if place.remote and _is_fetched(source):
        text = f"`{shown(path)}` was fetched whole: its server sends no ranges of files"
        helps = ("keep a local copy if you read it again",)
        report.add(Diagnostic("unranged-server", Severity.NOTE, text, helps=helps))
    return source


def _is_fetched(source: Source | Store) -> bool:
    """Return whether a file from a URL is local, though files of its format are read by ranges."""
    from nczarr.stores.ranges import remote

    if isinstance(source, Source):
        return remote(source.path) is None and _is_ranged(bytes(source.data[:HEAD]))
    return source.archive and not source.distant


def _is_ranged(head: bytes) -> bool:
    """Return whether remote files with these first bytes are read by ranges."""
    form = registry.detect("", head)
    return form is not None and form.ranged


def revision(source: Source | Store, report: Report, options: Options) -> Source | Store | None:
    """Return the store of the revision that a repository's text names; any other source unchanged.

    None after an error. Raises OSError.
    """
    if isinstance(source, Source) or not source.versioned:
        return source
    form = registry.detect_store(source)
    assert form is not None
    assert form.opens is not None
    store: Store | None = registry.load(form.opens)(source, report, options)
    return store


def source_format(source: Source | Store, name: str, report: Report) -> Format | None:
    """Return the format with a name; None (reported) if the source cannot have it."""
    form = registry.named(name)
    if form is None or not form.readable:
        readable = ", ".join(row.name for row in registry.formats() if row.readable)
        text = f"format `{name}` cannot be read" if form else f"unknown format `{name}`"
        report.error("unknown-format", text, helps=[f"formats that can be read: {readable}"])
        return None
    if form.opens is not None or (form.holds is None) == isinstance(source, Source):
        return form
    what, expected = ("file", "a store of keys") if isinstance(source, Source) else ("store of keys", "one file")
    place = source.name if isinstance(source, Source) else source.path
    report.error("unknown-format", f"`{place}` is a {what}, and format `{name}` is {expected}")
    return None


def unusable(text: str, error: BadURLError | ImportError, report: Report) -> None:
    """Report why a URL cannot be used: bad-url, missing-library."""
    if isinstance(error, BadURLError):
        report.error("bad-url", f"`{shown(text)}`: {error}")
    else:
        report.error("missing-library", f"`{shown(text)}`: {error}", helps=[getattr(error, "remedy", "")])


def located(text: str, report: Report) -> Location | None:
    """Return the place of a path or URL; None after an error."""
    try:
        return location(text)
    except BadURLError as error:
        unusable(text, error, report)
        return None


def readable(store: Store, report: Report, options: Options) -> Store | None:
    """Return the state of a store that can be read; None (reported) for an unfinished one that is not allowed.

    A store that is being extended has one at any time: with a warning.
    """
    store.expect(ROOT_KEYS)
    journal = store.get(JOURNAL)
    if journal is None:
        return store
    from nczarr.stores import extension

    append = extension.parsed(journal)
    if append is not None:
        state = "before" if append.state == "writing" else "after"
        helps = ["to complete it, run the same `nczarr append` again"]
        text = f"`{store.path}` is being extended, or an `append` was interrupted; it is read as {state} that"
        report.warning("unfinished-append", text, helps=helps)
        return extension.view(store, append)
    if options.unfinished:
        return store
    helps = ["to continue, run `nczarr convert SRC DST --resume` with the same source and options"]
    report.error("unfinished-store", f"`{store.path}` is incomplete: it has a journal", helps=helps)
    return None


def detected(source: Source | Store) -> Format | None:
    """Return the format of a source by its content; None if it is unknown."""
    if isinstance(source, Source):
        return registry.detect(source.name, bytes(source.data[:HEAD]))
    return registry.detect_store(source)
