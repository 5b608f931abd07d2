"""A session in Neovim with `nczarr lsp`: what the editor shows of faults, explanations and declarations."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from nczarr.diagnostics.report import Report, Source
from nczarr.plugins.fmt.reformat import reformat
from tests.conftest import ROOT

pytestmark = pytest.mark.peer

TEXT = """netcdf ocean {
dimensions:
    time = 2 ;
  lat = 3 ;
variables:
  float temp(time,latt) ;
    temp:units = "K" ;
}
"""


@pytest.mark.long
def test_neovim_shows_diagnostics_hover_and_formatted_text(tool: Callable[[str], str], tmp_path: Path) -> None:
    schema, seen_file = tmp_path / "ocean.cdl", tmp_path / "seen.json"
    schema.write_text(TEXT, "utf-8")
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "NCZARR_LSP": "\n".join([sys.executable, "-m", "nczarr", "lsp"]),
        "NCZARR_SEEN": str(seen_file),
        "XDG_STATE_HOME": str(tmp_path),
        "XDG_DATA_HOME": str(tmp_path),
    }
    script = ROOT / "tests" / "support" / "peers" / "neovim_session.lua"
    command = [tool("nvim"), "--clean", "--headless", "-c", f"luafile {script}", str(schema)]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, check=False, timeout=120)
    seen = json.loads(seen_file.read_text("utf-8"))
    (fault,) = seen["diagnostics"]
    assert (fault["line"], fault["column"]) == (5, 18)
    assert fault["message"].startswith("dimension `latt` is not defined")
    assert any("dimension `latt` is not defined" in text for text in seen["virtual_texts"])
    assert any("float temp(time, latt)" in line for line in seen["hover"])
    assert seen["left"] == 0
    assert seen["definition"] == 5
    assert done.returncode == 0, done.stderr
    formatted = reformat(Source("ocean.cdl", TEXT.replace("latt", "lat").encode()), Report())
    assert formatted is not None
    assert "\n".join([*seen["text"], ""]).encode() == formatted != TEXT.encode()
