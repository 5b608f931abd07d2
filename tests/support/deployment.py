"""Command lines and documents in the files of `deploy/`, for tests."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.conftest import ROOT

DEPLOY = ROOT / "deploy"
UNIT = DEPLOY / "systemd" / "nczarr.service"
DOCKERFILE = DEPLOY / "Dockerfile"
KUBERNETES = DEPLOY / "kubernetes.yaml"


def read_unit() -> list[tuple[str, str]]:
    """Return the settings of the systemd unit, in order: a name may stand several times."""
    lines = (line.partition("=") for line in UNIT.read_text(encoding="utf-8").splitlines() if re.match(r"\w+=", line))
    return [(name, value) for name, _, value in lines]


def unit_command() -> list[str]:
    return shlex.split(dict(read_unit())["ExecStart"])


def read_dockerfile() -> dict[str, str]:
    """Return the last instruction of each kind."""
    text = DOCKERFILE.read_text(encoding="utf-8").replace("\\\n", " ")
    return dict(re.findall(r"^([A-Z]+) +(.*)$", text, re.MULTILINE))


def image_command(arguments: list[str] | None = None) -> list[str]:
    """Return the command line of the image, with these arguments in the place of its own."""
    instructions = read_dockerfile()
    return [*json.loads(instructions["ENTRYPOINT"]), *(arguments or json.loads(instructions["CMD"]))]


def read_kubernetes(yaml: ModuleType) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(KUBERNETES.read_text(encoding="utf-8")))


def pod_of(documents: list[dict[str, Any]]) -> dict[str, Any]:
    (deployment,) = (document for document in documents if document["kind"] == "Deployment")
    pod: dict[str, Any] = deployment["spec"]["template"]["spec"]
    return pod


def read_compose(yaml: ModuleType) -> dict[str, Any]:
    services: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))["services"]
    return services


def read_texts(*suffixes: str) -> dict[Path, str]:
    paths = sorted(path for path in DEPLOY.rglob("*") if path.name.endswith(suffixes))
    return {path: path.read_text(encoding="utf-8") for path in paths}
