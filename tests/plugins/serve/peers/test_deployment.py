"""The files in `deploy/`: they agree with each other and with the command, and the tools of their formats take them."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

import pytest

from nczarr.cli import parser_of
from tests.conftest import ROOT, missing_peer
from tests.support.deployment import (
    DEPLOY,
    DOCKERFILE,
    UNIT,
    image_command,
    pod_of,
    read_compose,
    read_dockerfile,
    read_kubernetes,
    read_texts,
    read_unit,
    unit_command,
)
from tests.support.serving import Served, running

pytestmark = pytest.mark.peer

REFUSE_EXEC_GAIN = 65
"""PR_SET_MDWE of prctl(2): no memory that was written may be executed, as `MemoryDenyWriteExecute=`."""


@pytest.fixture
def yaml(peer: Callable[[str], ModuleType]) -> ModuleType:
    return peer("yaml")


def parse(command: list[str]) -> Namespace:
    """Parse a command line by the parser of the command itself."""
    assert command[:2] == [command[0], "serve"]
    assert Path(command[0]).name == "nczarr"
    return parser_of("serve").parse_args(command[2:])


# ---- what the files share --------------------------------------------------------------------------------------------
def test_the_command_takes_every_command_line(yaml: ModuleType) -> None:
    compose = read_compose(yaml)["nczarr"]["command"]
    container = pod_of(read_kubernetes(yaml))["containers"][0]
    image, composed, pod = image_command(), image_command(compose), image_command(container["args"])
    in_containers = [parse(image), parse(composed), parse(pod)]
    on_machine = parse(unit_command())
    assert {given.host for given in in_containers} == {"0.0.0.0"}  # a container's own address is not known before
    assert on_machine.host == "127.0.0.1"
    bases = {given.root_path for given in (*in_containers[1:], on_machine)}
    assert bases == {("https://data.example.org", "/archive")}
    assert {given.processes for given in (*in_containers, on_machine)} == {2}
    mounts = {mount["mountPath"]: mount.get("readOnly") for mount in container["volumeMounts"]}
    assert {str(given.root) for given in in_containers} == {"/data"}
    assert mounts == {"/data": True, "/tmp": None}
    assert set(json.loads(read_dockerfile()["VOLUME"])) == set(mounts)
    assert dict(read_unit())["ReadOnlyPaths"] == str(on_machine.root)


def test_ports_agree(yaml: ModuleType) -> None:
    documents = read_kubernetes(yaml)
    port = parse(unit_command()).port
    assert parse(image_command()).port == port
    assert int(read_dockerfile()["EXPOSE"]) == port
    container = pod_of(documents)["containers"][0]
    assert container["ports"] == [{"name": "http", "containerPort": port}]
    for service in (document for document in documents if document["kind"] == "Service"):
        assert service["spec"]["ports"][0].get("targetPort", "http") == "http"
    urls = re.findall(r"http://127\.0\.0\.1:(\d+)/", read_dockerfile()["HEALTHCHECK"])
    assert urls == [str(port)]
    for path, text in read_texts("Caddyfile").items():
        assert f"{{$SERVER:nczarr:{port}}}" in text, path
    for path, text in read_texts("nczarr.conf", "auth.conf", "oidc.conf").items():
        assert f"server 127.0.0.1:{port};" in text, path


def test_the_public_address_is_the_same_everywhere(yaml: ModuleType) -> None:
    base, prefix = parse(unit_command()).root_path
    host = urlsplit(base).hostname
    (ingress,) = (document["spec"] for document in read_kubernetes(yaml) if document["kind"] == "Ingress")
    (rule,) = ingress["rules"]
    assert [rule["host"], *ingress["tls"][0]["hosts"]] == [host, host]
    assert [path["path"] for path in rule["http"]["paths"]] == [f"{prefix}/metrics", prefix]
    for path, text in read_texts("Caddyfile").items():
        assert f"{{$SITE:{host}}}" in text, path
        assert f"handle {prefix}/* " in text, path
    for path, text in read_texts("nczarr.conf", "auth.conf", "oidc.conf").items():
        assert set(re.findall(r"server_name (.*);", text)) == {host}, path
        assert f"location {prefix}/ " in text, path
    (settings,) = read_texts("oauth2-proxy.cfg").values()
    assert f'redirect_url = "{base}/oauth2/callback"' in settings


def test_variants_differ_by_their_users_alone() -> None:
    """A change of `nczarr.conf` belongs into the other two as well."""
    base, *others = (
        re.sub(r" *#.*", "", (DEPLOY / "nginx" / name).read_text(encoding="utf-8")).split("\n")
        for name in ("nczarr.conf", "basic-auth.conf", "oidc.conf")
    )
    for other in others:
        assert [line for line in base if line not in other] == []


def test_selectors_find_the_pods(yaml: ModuleType) -> None:
    documents = {(document["kind"], document["metadata"]["name"]): document for document in read_kubernetes(yaml)}
    spec = documents["Deployment", "nczarr"]["spec"]
    labels = spec["template"]["metadata"]["labels"]
    assert spec["selector"]["matchLabels"] == labels
    assert documents["Service", "nczarr"]["spec"]["selector"] == labels
    assert documents["Service", "nczarr-closed"]["spec"]["selector"] != labels
    assert documents["NetworkPolicy", "nczarr"]["spec"]["podSelector"]["matchLabels"] == labels
    assert documents["PodDisruptionBudget", "nczarr"]["spec"]["selector"]["matchLabels"] == labels
    assert documents["PodDisruptionBudget", "nczarr"]["spec"]["minAvailable"] < spec["replicas"]
    claim = pod_of(list(documents.values()))["volumes"][0]["persistentVolumeClaim"]
    assert ("PersistentVolumeClaim", claim["claimName"]) in documents
    closed, _ = documents["Ingress", "nczarr"]["spec"]["rules"][0]["http"]["paths"]
    assert closed["backend"]["service"]["name"] == "nczarr-closed"


def test_nothing_runs_as_root(yaml: ModuleType) -> None:
    pod = pod_of(read_kubernetes(yaml))
    container = pod["containers"][0]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert int(read_dockerfile()["USER"]) == pod["securityContext"]["runAsUser"] > 0
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    compose = read_compose(yaml)["nczarr"]
    assert (compose["read_only"], compose["cap_drop"]) == (True, ["ALL"])
    assert dict(read_unit())["DynamicUser"] == "yes"


def test_answers_may_end_before_the_server_is_killed(yaml: ModuleType) -> None:
    pod = pod_of(read_kubernetes(yaml))
    (pause,) = pod["containers"][0]["lifecycle"]["preStop"]["exec"]["command"][1:]
    grace = parse(image_command(pod["containers"][0]["args"])).grace
    assert pod["terminationGracePeriodSeconds"] >= grace + int(pause) + 5
    assert int(dict(read_unit())["TimeoutStopSec"]) >= parse(unit_command()).grace + 5


# ---- systemd ---------------------------------------------------------------------------------------------------------
@pytest.fixture
def unit(tmp_path: Path) -> Path:
    """The unit with a program that is there: systemd looks for it."""
    text = UNIT.read_text(encoding="utf-8")
    program = unit_command()[0]
    assert text.count(f"={program} ") == 1
    copy = tmp_path / UNIT.name
    copy.write_text(text.replace(f"={program} ", f"={shutil.which('true')} "), encoding="utf-8")
    return copy


def analyze(tool: Callable[[str], str], *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [tool("systemd-analyze"), "--no-pager", *arguments]
    return subprocess.run(command, capture_output=True, check=False, text=True, timeout=60)


def test_systemd_takes_the_unit(tool: Callable[[str], str], unit: Path) -> None:
    ran = analyze(tool, "verify", str(unit))
    assert (ran.returncode, ran.stdout + ran.stderr) == (0, "")
    unit.write_text(unit.read_text(encoding="utf-8").replace("ProtectHome=", "ProtectHouse="), encoding="utf-8")
    assert "ProtectHouse" in analyze(tool, "verify", str(unit)).stderr


def test_the_unit_exposes_little(tool: Callable[[str], str], unit: Path) -> None:
    """systemd's measure goes from 0 to 10; a unit without any hardening has 9.6."""
    assert analyze(tool, "security", "--offline=true", "--threshold=15", str(unit)).returncode == 0  # 1.5
    unit.write_text(
        re.sub(r"(?m)^(Protect\w+|CapabilityBoundingSet|SystemCallFilter)=.*\n", "", unit.read_text(encoding="utf-8")),
        encoding="utf-8",
    )
    assert analyze(tool, "security", "--offline=true", "--threshold=15", str(unit)).returncode == 1


@pytest.fixture(scope="module")
def started(datasets: Path) -> Iterator[Served]:
    """The server that the unit starts: its own command line, another folder and port, and no executable new memory."""
    command = unit_command()
    given = parse(command)
    values = {str(given.root): str(datasets), str(given.port): "0"}
    arguments = [values.get(word, word) for word in command[1:]]
    assert {*values.values()} <= {*arguments}
    start = (
        f"import ctypes, os, sys; os.umask(0o{dict(read_unit())['UMask']});"
        f"ctypes.CDLL(None).prctl({REFUSE_EXEC_GAIN}, 1, 0, 0, 0);"  # from Linux 6.3 on; an error before
        "os.execv(sys.executable, [sys.executable, '-m', 'nczarr', *sys.argv[1:]])"
    )
    settings = dict(word.split("=", 1) for word in shlex.split(dict(read_unit())["Environment"]))
    with running([sys.executable, "-c", start, *arguments], **settings) as served:
        yield served


def test_the_unit_starts_a_server(started: Served) -> None:
    assert len(started.children()) == parse(unit_command()).processes
    assert started.get("/healthz").body == b"ok\n"
    assert started.get("/archive/zarr3/types.nc/zarr.json", Host="data.example.org").status == 200
    assert started.get("/archive/", Host="other.example.org").status == 403


def test_probes_ask_for_what_the_server_has(started: Served, yaml: ModuleType) -> None:
    container = pod_of(read_kubernetes(yaml))["containers"][0]
    paths = {name: probe["httpGet"]["path"] for name, probe in container.items() if name.endswith("Probe")}
    assert set(paths) == {"livenessProbe", "readinessProbe", "startupProbe"}
    (health,) = re.findall(r"http://[\d.:]+(/\w+)'", read_dockerfile()["HEALTHCHECK"])
    assert health == paths["readinessProbe"]
    for path in (health, *paths.values()):
        assert started.get(path).status == 200, path
    assert paths["livenessProbe"] != health  # a restart does not bring back a folder that cannot be reached


# ---- Kubernetes ------------------------------------------------------------------------------------------------------
def test_kubernetes_takes_the_manifest(peer: Callable[[str], ModuleType], yaml: ModuleType) -> None:
    schemas, documents = peer("kubernetes_validate"), read_kubernetes(yaml)
    versions = schemas.utils.major_minor(schemas.latest_version()), "1.29"
    for version in versions:
        for document in documents:
            schemas.validate(document, version, strict=True)
    for change in (("replica", 2), ("replicas", "two")):
        wrong: dict[str, Any] = deepcopy(documents[0])
        wrong["spec"].update([change])
        with pytest.raises(schemas.ValidationError):
            schemas.validate(wrong, versions[0], strict=True)


# ---- the image -------------------------------------------------------------------------------------------------------
def test_hadolint_finds_nothing(tmp_path: Path) -> None:
    program = shutil.which("hadolint", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if program is None:
        missing_peer("hadolint")
        raise AssertionError

    def lint(path: Path) -> tuple[int, str]:
        ran = subprocess.run([program, "--no-color", path], capture_output=True, check=False, text=True, timeout=60)
        return ran.returncode, ran.stdout + ran.stderr

    assert lint(DOCKERFILE) == (0, "")
    (tmp_path / "Dockerfile").write_text(DOCKERFILE.read_text(encoding="utf-8") + "USER root\n", encoding="utf-8")
    status, text = lint(tmp_path / "Dockerfile")
    assert (status, "DL3002" in text) == (1, True)


@pytest.fixture
def engine() -> str:
    """A container engine that runs here."""
    for name in ("docker", "podman"):
        found = shutil.which(name)
        if found and subprocess.run([found, "info"], capture_output=True, check=False, timeout=60).returncode == 0:
            return found
    pytest.skip("no container engine runs here")


@pytest.mark.slow
def test_the_image_serves(engine: str, datasets: Path, tmp_path: Path) -> None:
    """NCZARR_IMAGE_BASE names another base image, NCZARR_IMAGE_OPTIONS more options of `build`."""

    def run(*arguments: str, check: bool = True) -> str:
        ran = subprocess.run([engine, *arguments], capture_output=True, check=False, text=True, timeout=1800)
        assert not check or ran.returncode == 0, ran.stderr[-3000:]
        return ran.stdout.strip()

    base = os.environ.get("NCZARR_IMAGE_BASE", "python:3.13-slim")
    if not run("images", "--quiet", base) and not run("pull", "--quiet", base, check=False):
        pytest.skip(f"the base image {base} cannot be had here")
    kind = ("--format", "docker") if Path(engine).name == "podman" else ()  # the other one has no health checks
    options = shlex.split(os.environ.get("NCZARR_IMAGE_OPTIONS", ""))
    name = f"nczarr-test-{os.getpid()}"
    shutil.copy(datasets / "cmip.nc", tmp_path)
    tmp_path.chmod(0o755)  # another user than this one reads it
    run("build", *kind, *options, "--build-arg", f"BASE={base}", "--file", str(DOCKERFILE), "--tag", name, str(ROOT))
    hardened = ("--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges:true", "--tmpfs", "/tmp")
    try:
        run(
            *("run", "--detach", "--name", name, "--network", "none", *hardened, "--health-interval", "1s"),
            *("--volume", f"{tmp_path}:/data:ro", name),
        )
        for _ in range(120):
            state = run("inspect", "--format", "{{.State.Status}} {{.State.Health.Status}}", name)
            if state != "running starting":
                break
            time.sleep(0.5)
        assert state == "running healthy", run("logs", name)
        assert run("exec", name, "id", "-u") == read_dockerfile()["USER"]
        ask = "import urllib.request as r; print(r.urlopen('http://127.0.0.1:8000/dap2/cmip.nc.dds').read().decode())"
        assert "Float32 tas" in run("exec", name, "python", "-c", ask)
        run("stop", name)
        assert run("inspect", "--format", "{{.State.ExitCode}}", name) == "0"
    finally:
        run("rm", "--force", name, check=False)
        run("rmi", "--force", name, check=False)
