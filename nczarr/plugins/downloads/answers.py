"""Files in the place of a dataset, by their first bytes: what services, Git and browsers leave, and other formats."""

from __future__ import annotations

import json
import re

from nczarr.stores.places import is_page

LONGEST = 200
"""Characters of a service's own words in a message."""

WORDS = ("detail", "message", "error", "title", "reason", "description")
"""Members of JSON answers that say what is wrong, the most precise first."""

_POINTER = re.compile(rb"version https://git-lfs\.github\.com/spec/v1\r?\noid sha256:[0-9a-f]{64}\r?\nsize (\d+)")
_DAP_ERROR = re.compile(rb'\s*Error\s*\{.*?message\s*=\s*"((?:[^"\\]|\\.)*)"', re.DOTALL)
_XML_ERROR = re.compile(
    rb"\s*(?:<\?xml[^>]*>\s*)?<(?:\w+:)?(?:Error|ServiceExceptionReport|ExceptionReport|ServiceException)\b",
    re.IGNORECASE,
)
_XML_WORDS = re.compile(rb"<(?:\w+:)?(?:Message|ExceptionText|ServiceException)\b[^>]*>\s*([^<]+)", re.IGNORECASE)


OTHERS = {
    b"GRIB": "it is a GRIB file: convert it with `grib_to_netcdf` of ecCodes, or open it with xarray and cfgrib, and "
    "give that to `nczarr.write`",
    b"BUFR": "it is a BUFR file: ecCodes reads it",
    b"\x0e\x03\x13\x01": "it is an HDF4 file: convert it with `h4tonccf` of the HDF Group",
    b"MATLAB 5.0 MAT-file": "it is a MATLAB file of version 5: save it with `-v7.3`, which is HDF5",
    b"II*\0": "it is a TIFF image: convert it with `gdal_translate -of netCDF`",
    b"MM\0*": "it is a TIFF image: convert it with `gdal_translate -of netCDF`",
    b"\x93NUMPY": "it is an array of NumPy: read it with `numpy.load`, and give it to `nczarr.DatasetBuilder`",
    b"PAR1": "it is a table of Parquet: read it with `pandas.read_parquet`, and give it to `nczarr.DatasetBuilder`",
}
"""Other formats, with what reads them, by the first bytes of their files."""


def explain_answer(head: bytes) -> str | None:
    """Return what a file of unknown format is by its first bytes, and what to do; None for other files."""
    if is_page(head):
        return "it is a web page: is the URL right, or does the server need the storage option `login`?"
    if pointer := _POINTER.match(head):
        size = pointer[1].decode()
        return f"it is a pointer of Git LFS to a file of {size} bytes: fetch that one with `git lfs pull`"
    if (words := find_json_words(head)) is not None:
        return f"it is the answer of a service{words}: repeat the request, with the login that the service needs"
    if error := _DAP_ERROR.match(head):
        return f"it is the error of an OPeNDAP server{_quote(error[1])}: is the URL that of a dataset?"
    if _XML_ERROR.match(head):
        said = _XML_WORDS.search(head)
        return f"it is the error of a server in XML{_quote(said[1] if said else b'')}: repeat the request"
    if (words := next((words for begin, words in OTHERS.items() if head.startswith(begin)), None)) is not None:
        return words
    if len(head) > 64 and not head.strip(b"\0"):
        return "it begins with zeros: the download has reserved its bytes and was not finished; fetch it again"
    return None


def find_json_words(head: bytes) -> str | None:
    """Return what a JSON answer says, ` (“…”)`; empty if it says nothing, None if it is no JSON object of an answer."""
    if not head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        return None
    try:
        answer = json.loads(head)
    except ValueError:  # longer than the first bytes, or no JSON
        return None
    words = next((answer[name] for name in WORDS if name in answer), None)
    if isinstance(words, dict):
        words = next((words[name] for name in WORDS if name in words), None)
    status = "status" in answer or "code" in answer
    if words is None:
        return "" if status else None
    return _quote(str(words).encode("utf-8", "replace"))


def _quote(words: bytes) -> str:
    """Return a service's own words for a message; empty without any."""
    text = " ".join(words.decode("utf-8", "replace").split())
    text = "".join(character for character in text if character.isprintable())
    return f" (“{text[:LONGEST]}{'…' * (len(text) > LONGEST)}”)" if text else ""
