"""Names of the registry of Zarr v3: codecs that have one, and types that have none, for `--zarr-names registered`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nczarr.arrays.codecs.chain import registered, to_configs
from nczarr.arrays.codecs.table import is_registered
from nczarr.arrays.sources.source import itemsize
from nczarr.ast import Codec, Storage
from nczarr.diagnostics.report import Diagnostic, Report, Severity
from nczarr.plan.plans import PartTarget


def with_registered_codecs(storage: Mapping[str, Storage], report: Report) -> dict[str, Storage]:
    """Return all storage with registered codecs. Reports encoded-again for each chain that changes."""
    registered_storage: dict[str, Storage] = {}
    changed: dict[tuple[str, str], list[str]] = {}
    for path, original in storage.items():
        chain = registered(original.codecs)
        registered_storage[path] = (
            original if chain == original.codecs else original.model_copy(update={"codecs": chain})
        )
        if chain != original.codecs:
            changed.setdefault((_named(original.codecs), _named(chain)), []).append(path)
    for (before, after), paths in changed.items():
        text = f"chunks of {_listed(paths)} are encoded again: {before} becomes {after}, which is registered"
        report.add(Diagnostic("encoded-again", Severity.NOTE, text))
    return registered_storage


def report_unregistered_codecs(targets: Mapping[str, Mapping[str, PartTarget]], report: Report) -> None:
    """Report codecs that only zarr-python names, as `numcodecs.zlib`: unregistered-codec."""
    users: dict[str, dict[str, None]] = {}
    for path, parts in targets.items():
        for target in parts.values():
            for config in to_configs(target.layout.codecs, itemsize(target.layout.dtype)):
                if not is_registered(config["id"]):
                    users.setdefault(str(config["id"]), {})[path] = None
    if users:
        names = ", ".join(f"`numcodecs.{name}`" for name in users)
        paths = list({path: None for users_of_name in users.values() for path in users_of_name})
        verb = "is no registered codec" if len(users) == 1 else "are no registered codecs"
        text = f"{_listed(paths)}: {names} {verb} of Zarr v3; zarr-python and xarray decode the chunks, others may not"
        helps = ["`--zarr-names registered` encodes the chunks again with registered codecs, for every reader"]
        report.warning("unregistered-codec", text, helps=helps)


def report_unregistered_types(targets: Mapping[str, Mapping[str, PartTarget]], report: Report) -> None:
    """Report types that have no registered name: unregistered-name."""
    for letter, name in (("S", "null_terminated_bytes"), ("V", "raw_bytes")):
        paths = [
            path
            for path, part_targets in targets.items()
            if any(
                isinstance(target.layout.dtype, str) and target.layout.dtype[1] == letter
                for target in part_targets.values()
            )
        ]
        if paths:
            report.warning("unregistered-name", f"{_listed(paths)}: data type `{name}` is not registered")


def _named(chain: Sequence[Codec]) -> str:
    return " + ".join(codec.name or str(codec.id) for codec in chain)


def _listed(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return f"`{paths[0]}`{more}"
