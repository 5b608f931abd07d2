"""`refs expand` reads templates beyond the grammar by either spelling of the option."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from tests.conftest import run_command


@pytest.mark.parametrize("option", ["--jinja", "--source-jinja"])
def test_templates_by_jinja2(option: str, tmp_path: Path, peer: Callable[[str], ModuleType]) -> None:
    peer("jinja2")
    path = tmp_path / "r.json"
    template = "{% if n == 'x' %}s3://b/{{ n }}{% endif %}"
    document = {"version": 1, "templates": {"u": template}, "refs": {"a/0": ["{{ u(n='x') }}", 0, 10]}}
    path.write_text(json.dumps(document))
    assert run_command("refs", "expand", str(path)).status == 1
    done = run_command("refs", "expand", str(path), option)
    assert json.loads(done.out) == {"a/0": ["s3://b/x", 0, 10]}
