"""Nothing that a source, a file name or an argument says reaches a terminal raw."""

from __future__ import annotations

import json
import os
import pty
import re
import sys
from pathlib import Path

import pytest

import nczarr
from nczarr import names
from nczarr.cli.terminal import clean
from nczarr.registry import find_format
from tests.conftest import run_command

RAW = re.compile(f"[{''.join(map(re.escape, map(chr, names.DECEPTIVE.keys() - {9, 10, 13})))}]")
OURS = re.compile(r"\x1b\[\??[0-9;]*[a-zA-Z]|\r")
"""Colours, and what moves the cursor of a progress line."""

TEXT = "".join(map(chr, names.DECEPTIVE)) + 'é "quoted" \\ back'
HOSTILE = "v\x1b]0;PWN\x07\x9b31m\u202e\u200b"


def write_store(path: Path) -> None:
    documents = {
        "zarr.json": {"zarr_format": 3, "node_type": "group",
            "attributes": {"t": TEXT, HOSTILE: HOSTILE, "n": [TEXT, 1]},
        },
        f"{HOSTILE}/zarr.json": {
            "zarr_format": 3, "node_type": "array", "shape": [2], "data_type": "int32", "fill_value": 0,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
            "chunk_key_encoding": {"name": "default"},
            "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
            "dimension_names": [HOSTILE], "attributes": {"units": f"days since {HOSTILE}", "calendar": HOSTILE},
        },
    }  # fmt: skip
    for key, document in documents.items():
        (path / key).parent.mkdir(parents=True, exist_ok=True)
        (path / key).write_text(json.dumps(document))


def on_terminal(*arguments: str) -> str:
    """Run a command on a pseudo-terminal, and return the text that it writes there."""
    process, terminal = pty.fork()
    if not process:
        os.execv(sys.executable, [sys.executable, "-m", "nczarr", *arguments])
    shown = b""
    while True:
        try:
            piece = os.read(terminal, 1 << 16)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    os.waitpid(process, 0)
    os.close(terminal)
    return shown.decode("utf-8", "surrogateescape")


COMMANDS = (
    ("info", "S"), ("dump", "S"), ("dump", "S", "--as", "notation"), ("check", "S", "--for", "xarray"), ("digest", "S"),
    ("diff", "S", "O"), ("convert", "S", "t.zarr", "--verbose"), ("convert", "S", "t.nc"), ("convert", "S", HOSTILE),
    ("migrate", "S", "--to", "nczarr3", "--dry-run"), ("append", "S", "O", "--along", HOSTILE), ("help", HOSTILE),
    ("explain", HOSTILE), ("info", HOSTILE), ("compile", "S", "-o", "-", "--to", "ast"),
    ("edit", "S", "--delete", HOSTILE),
    (HOSTILE,), ("dump", f"--{HOSTILE}"), ("info", "N"), ("digest", "N"), ("check", "N"), ("refs", "verify", "S"),
    ("rechunk", "S", "t2.zarr", "--chunks", f"{HOSTILE}=1", "--dry-run"), ("convert", "S", "-", "--to", "cdl"),
)  # fmt: skip


@pytest.mark.sampled(6)
@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda arguments: names.readable(" ".join(arguments)))
def test_no_command_shows_control_characters(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_store(tmp_path / "S")
    Path("o.cdl").write_text("netcdf o { dimensions: x = 2 ; variables: int v(x) ; data: v = 1, 2 ; }")
    nczarr.convert("o.cdl", "o.nc")
    named = {"O": "o.nc", "N": f"{HOSTILE}.nc"}
    Path(named["N"]).write_bytes(Path("o.nc").read_bytes())
    shown = on_terminal(*(named.get(word, word) for word in arguments))
    assert shown.strip() or arguments == ("check", "N")
    assert RAW.findall(OURS.sub("", shown)) == []
    assert "internal-error" not in shown


@pytest.mark.parametrize("form", ["cdl", "notation", "ast"])
@pytest.mark.parametrize("size", [1, 7, 1 << 16])
def test_strings_on_a_terminal_are_read_back(form: str, size: int, tmp_path: Path) -> None:
    (tmp_path / "S.zarr").mkdir()
    attributes = {"t": TEXT.replace("\0", ""), "list": [TEXT.replace("\0", ""), "b"]}
    document = {"zarr_format": 3, "node_type": "group", "attributes": attributes}
    (tmp_path / "S.zarr/zarr.json").write_text(json.dumps(document))
    product = run_command("dump", str(tmp_path / "S.zarr"), "--as", form).out
    pieces = [product[at : at + size] for at in range(0, len(product), size)]
    shown = b"".join(clean(pieces, find_format(form).display.string_escapes))
    assert RAW.findall(shown.decode()) == []
    suffix = {"cdl": "cdl", "notation": "ncz", "ast": "ast.json"}[form]
    (tmp_path / f"raw.{suffix}").write_bytes(product)
    (tmp_path / f"shown.{suffix}").write_bytes(shown)
    with nczarr.open(tmp_path / f"shown.{suffix}") as found, nczarr.open(tmp_path / f"raw.{suffix}") as expected:
        assert found.attributes == expected.attributes
        assert found.attributes["t"] == attributes["t"]


def test_a_product_that_is_not_for_a_terminal_is_unchanged(tmp_path: Path) -> None:
    (tmp_path / "S").mkdir()
    write_store(tmp_path / "S")
    assert "\x9b".encode() in run_command("dump", str(tmp_path / "S")).out
