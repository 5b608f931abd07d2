"""Copy of a file between HDF5 and Zarr: reading, losses, writing, verification by comparison, publication."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from nczarr.arrays.lazy_numpy import NDArray
from nczarr.diagnostics.report import Source
from nczarr.diagnostics.secrets import show
from nczarr.plugins.nwb.hdf5_file import read_hdf5, write_hdf5
from nczarr.plugins.nwb.model import Lose, NwbArray, NwbGroup, NwbTree, UnkeptError
from nczarr.plugins.nwb.zarr_reader import DocumentError, read_zarr
from nczarr.plugins.nwb.zarr_writer import SUFFIX, write_zarr
from nczarr.stores.directory import DirectoryStore, DirectoryTarget

if TYPE_CHECKING:
    from nczarr.diagnostics.report import Report
    from nczarr.options import Options
    from nczarr.stores.base import Store


def list_differences(one: NwbTree, other: NwbTree) -> Iterator[tuple[str, str]]:
    """Yield the path of what differs, and a sentence about it. Arrays of a path have the same chunks."""
    for path in dict.fromkeys((*one.nodes, *other.nodes)):
        left, right = one.nodes.get(path), other.nodes.get(path)
        if left is None or right is None:
            yield path, f"it is missing in the {'target' if right is None else 'source'}"
            continue
        for name in dict.fromkeys((*left.attributes, *right.attributes)):
            if repr(left.attributes.get(name)) != repr(right.attributes.get(name)):  # NaN equals NaN
                yield f"{path}@{name}", "the attribute differs"
        if _outline(left) != _outline(right):
            yield path, "the links, types or shapes differ"
        elif not isinstance(left, NwbGroup) and not isinstance(right, NwbGroup):
            indices = {*left.list_stored(), *right.list_stored()}
            if not all(_are_equal(left.read(index), right.read(index)) for index in indices):
                yield path, "the values differ"


def _outline(node: NwbGroup | NwbArray) -> Any:
    return node.links if isinstance(node, NwbGroup) else (node.type, node.shape, node.limits)


def _are_equal(one: NDArray[Any], other: NDArray[Any]) -> bool:
    if one.dtype.hasobject:
        return bool(one.tolist() == other.tolist())
    if one.dtype.names is not None:  # whose bytes between members may differ
        return all(_are_equal(one[name], other[name]) for name in one.dtype.names)
    return one.shape == other.shape and one.tobytes() == other.tobytes()


BAD, LOSS, DIFFERENCE, EXTERNAL = "bad-nwb", "nwb-loss", "nwb-difference", "nwb-external-link"


def copy_file(source: Source | Store, target: str, report: Report, options: Options) -> NwbTree | None:
    """Write a copy in the other form; return the tree of the source, None after an error. Raises OSError.

    The place of the target is free, and locked.
    """
    losses: list[tuple[str, str]] = []
    with ExitStack() as opened:
        try:
            tree = _read(source, lambda path, reason: losses.append((path, reason)), opened)
            if not _report_losses(losses, report, options):
                return None
            _report_external_links(tree, report, to_zarr=isinstance(source, Source))
            if isinstance(source, Source):
                _write_store(tree, target, report, options)
            else:
                _write_file(tree, target, report, options)
        except DocumentError as error:
            report.error(BAD, f"`{show(report.subject or target)}`: {error}")
        except UnkeptError as error:
            report.error(LOSS, f"`{error.__notes__[0]}` {error}")
        return None if report.errors else tree


def _read(source: Source | Store, lose: Lose, opened: ExitStack) -> NwbTree:
    """Return the tree of a source. Raises DocumentError, OSError."""
    if not isinstance(source, Source):
        return read_zarr(source, lose)
    import h5py

    if source.path is None or not h5py.is_hdf5(source.path):
        raise DocumentError("it is neither a local HDF5 file nor a Zarr store")
    return _read_path(source.path, lose, opened)


@contextmanager
def _report_refusal() -> Iterator[None]:
    """Turn exceptions of h5py for what is damaged into DocumentError."""
    try:
        yield
    except DocumentError:
        raise
    except (RuntimeError, KeyError, ValueError, TypeError) as error:
        raise DocumentError(f"HDF5 refuses it: {error}") from error


@_report_refusal()
def _read_path(path: str, lose: Lose, opened: ExitStack) -> NwbTree:
    import h5py

    return read_hdf5(opened.enter_context(h5py.File(path, "r")), lose)


def _report_losses(losses: list[tuple[str, str]], report: Report, options: Options) -> bool:
    """Report what the target has no place for; return whether the user accepts it."""
    accepted = options.run.accepts(LOSS)
    for path, reason in losses:
        place, _, name = path.partition("@")
        what = f"attribute `{name}` of `{place}`" if name else f"`{place}`"
        if accepted:
            report.warning(LOSS, f"{what} {reason}: it is left out")
        else:
            helps = [f"`--allow-loss {LOSS}` leaves it out"]
            report.error(LOSS, f"{what} {reason}", helps=helps)
    return accepted or not losses


def _report_external_links(tree: NwbTree, report: Report, *, to_zarr: bool) -> None:
    groups = (node for node in tree.nodes.values() if isinstance(node, NwbGroup))
    for file in sorted({link.file for group in groups for link in group.links.values() if link.file}):
        one, other = (file, file + SUFFIX)[:: 1 if to_zarr else -1]
        helps = [f"copy `{show(one)}` to `{show(other)}` too, beside the target"]
        report.warning(EXTERNAL, f"links lead to `{show(other)}`, the copy of another file", helps=helps)


def _write_store(tree: NwbTree, target: str, report: Report, options: Options) -> None:
    store = DirectoryTarget(target, overwrite=options.target.overwrite)
    try:
        write_zarr(tree, store)
        if options.run.verify:
            _verify(tree, read_zarr(DirectoryStore(store.path), _fail), report)
        if not report.errors:
            store.finish()
    finally:
        store.abort()


def _write_file(tree: NwbTree, target: str, report: Report, options: Options) -> None:
    from nczarr.stores.open import write_beside

    with write_beside(target) as unfinished, ExitStack() as opened:
        with _report_refusal():
            write_hdf5(tree, unfinished.path)
        if options.run.verify:
            _verify(tree, _read_path(unfinished.path, _fail, opened), report)
        if report.errors:
            unfinished.discard()


def _fail(path: str, reason: str) -> None:
    raise DocumentError(f"the target is damaged: `{path}` {reason}")


def _verify(source: NwbTree, target: NwbTree, report: Report) -> None:
    """Compare a target with its source; report what differs."""
    from nczarr.plugins.nwb.hdf5_file import Hdf5Array

    for path, node in source.nodes.items():
        pair: list[Any] = [node, target.nodes.get(path)]
        for one, other in (pair, pair[::-1]):
            if isinstance(one, Hdf5Array) and other is not None and not isinstance(other, NwbGroup):
                one.chunks = other.chunks
    for path, text in list_differences(source, target):
        report.error(DIFFERENCE, f"`{path}`: {text}")
