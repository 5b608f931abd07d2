"""`make demo`: the two main jobs in a minute. A schema becomes a store and a file; a mistake becomes a lesson."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

SAMPLES = Path(__file__).resolve().parent

BROKEN = """netcdf broken {
dimensions:
  lat = 3 ;
variables:
  float t(latt) ;
    t:units = "K"
  byte flag(lat) ;
data:
  flag = 1, 2, 300 ;
}
"""


def run(*arguments: str, stdin: str | None = None) -> None:
    """Show a command and what it prints; its status is shown, not raised."""
    print(f"\n% nczarr {' '.join(arguments)}", flush=True)
    done = subprocess.run([sys.executable, "-m", "nczarr", *arguments], input=stdin, text=True, check=False)
    if done.returncode:
        print(f"=> {done.returncode}", flush=True)


def main() -> int:
    """Compile, look, and make a mistake on purpose; fails if a store that was just written cannot be read."""
    with tempfile.TemporaryDirectory() as folder:
        store = str(Path(folder) / "station.zarr")
        sample = str(SAMPLES / "01-station.cdl")
        run("dump", sample, "--as", "tree")
        run("compile", sample, "-o", store)
        print("\nThe store, as zarr-python sees it:", flush=True)
        try:
            import zarr
        except ImportError:
            print("(zarr is not installed)")
        else:
            root = zarr.open_group(store, mode="r", zarr_format=2)
            for name in sorted(root.array_keys()):
                print(f"  {name}: {root[name].dtype} {root[name].shape}")
            assert root["temperature"].shape == (3, 3)
        file = str(Path(folder) / "station.nc")
        run("compile", sample, "--kind", "nc4", "-o", file)
        print("\nThe netCDF-4 file, as the netCDF library sees it:", flush=True)
        try:
            import netCDF4
        except ImportError:
            print("(netCDF4 is not installed)")
        else:
            with netCDF4.Dataset(file) as dataset:
                for name, variable in dataset.variables.items():
                    print(f"  {name}: {variable.dtype} {variable.shape}")
                assert dataset["temperature"].shape == (3, 3)
        run("check", "-", stdin=BROKEN)
        run("explain", "undefined-dimension")
    return 0


if __name__ == "__main__":
    sys.exit(main())
