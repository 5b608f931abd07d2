"""Codes of streams of points (ncstream §11)."""

from __future__ import annotations

from nczarr.diagnostics.codes.code import ERROR, WARNING, Code

_COLLECTION = b"\xfa\xfa\xaf\xaf\x00"
_STATIONS = b"\xfe\xfe\xef\xef\x06\x0a\x04\x0a\x02KB"
_END = b"\xed\xed\xde\xde"
_SCRIPT = ">>> import io, nczarr.ncstream\n"
_LOST = (
    ">>> points = 'types: compound rec { double time, lat, lon ; } ; dimensions: obs = 1 ; variables: rec r(obs) ;'\n"
    ">>> dataset = nczarr.from_cdl('netcdf t {' + points + ' int v ; }')\n"
    ">>> report = nczarr.ncstream.write_points(dataset, io.BytesIO(), '/r')\n"
)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


CODES = (
    Code(
        "skipped-stations",
        WARNING,
        "A stream of points has a list of stations. The model of points has no place for it, and it is passed over.",
        _text(_STATIONS + _COLLECTION + _END),
        "Take places of stations from the points, which have them as well.",
    ),
    Code(
        "unsuited-points",
        ERROR,
        "A variable cannot be written as a stream of points: that takes records along one dimension, whose members are "
        "numbers, chars or strings, and among which are time, latitude and longitude.",
        _SCRIPT
        + '>>> nczarr.ncstream.write_points(nczarr.from_cdl("netcdf t { variables: int v ; }"), io.BytesIO())\n',
        "Name another variable, or name the members that are time, latitude, longitude, altitude and nominal time in "
        "the attribute `location` of the variable.",
    ),
    Code(
        "lost-beside-points",
        WARNING,
        "A stream of points has one variable, and of its attributes what names and units say. The rest of the dataset "
        "is not in it.",
        _SCRIPT + _LOST,
        "Write the dataset in another format beside it, if the rest matters.",
    ),
)
