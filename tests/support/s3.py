"""A real S3 server on loopback, one a session, with a proxy in front that counts what is asked of it."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.conftest import ROOT, Ran, missing_peer
from tests.support.proxy import Proxy

BUCKET = "tests"


class S3(NamedTuple):
    """The server: the tool that runs it, its folder, and the environment that clients need."""

    tool: Path
    folder: Path
    environment: dict[str, str]
    proxy: Proxy

    def url(self, key: str) -> str:
        return f"s3://{BUCKET}/{key}"

    @property
    def counted(self) -> dict[str, str]:
        """The environment of clients whose requests are counted."""
        return {"AWS_ENDPOINT_URL": self.proxy.endpoint}

    def start(self) -> dict[str, str]:
        """Start whatever of it is not running."""
        done = subprocess.run([self.tool, "start", self.folder], capture_output=True, text=True, timeout=180)
        assert done.returncode == 0, done.stderr
        return dict(line.split("=", 1) for line in done.stdout.splitlines())

    def pid(self, role: str) -> int:
        return int((self.folder / "run" / f"{role}.pid").read_text().split()[0])

    def process(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        """A command line of ours in a process of its own."""
        return subprocess.Popen(
            [sys.executable, "-m", "nczarr", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**self.environment, "PYTHONPATH": str(ROOT), **environment},
        )

    def same(self, one: Path, other: Path) -> str:
        """What two netCDF files differ in, by the tool that compares them through the library."""
        program = self.tool.parent / "nc-same"
        done = subprocess.run([sys.executable, program, one, other], capture_output=True, text=True, timeout=600)
        assert done.returncode in (0, 1), done.stderr
        return done.stdout

    def run(self, *arguments: str, **environment: str) -> Ran:
        process = self.process(*arguments, **environment)
        out, err = process.communicate(timeout=600)
        return Ran(process.returncode, out.encode(), err)


@pytest.fixture(scope="session")
def s3(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3]:
    """The server with an empty bucket; a visible skip where it cannot be had."""
    pytest.importorskip("s3fs", reason="s3fs is not installed: nczarr[remote]")
    tool = shared / "tools" / "s3-server"
    if not tool.exists():
        missing_peer("s3-server")
    folder = tmp_path_factory.mktemp("s3")
    server = S3(tool, folder, {}, None)  # type: ignore[arg-type]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", path)
        found = server.start()
        proxy = Proxy(found["AWS_ENDPOINT_URL"])
        for name, value in {**found, "AWS_CONFIG_FILE": os.devnull}.items():
            patch.setenv(name, value)
        patch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
        server = server._replace(environment=dict(os.environ), proxy=proxy)
        import botocore.session
        import fsspec

        create_loader = functools.cache(botocore.session.create_loader)  # each client would parse the same megabytes
        patch.setattr(botocore.session, "create_loader", create_loader)
        fsspec.filesystem("s3", skip_instance_cache=True).mkdir(BUCKET)
        yield server
        proxy.close()
        subprocess.run([tool, "stop", folder], capture_output=True, timeout=60, check=True)
    shutil.rmtree(folder, ignore_errors=True)
