"""Run commands of nczarr for the playground, in the Python of a browser.

The page calls `compile_text`; nothing here knows that it runs in a browser, so the tests call it, too.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import os
import re
import tempfile
from pathlib import Path

EMISSIONS = ("tokens", "ast", "analysed", "plan", "keys")
NAME = "schema.cdl"
END = {"text": ""}
"""Token behind the last one."""
ABSENT = re.compile(
    r"error\[internal-error\]: .*Error: (?:No module named '(?P<name>\w+)|(?P<other>\w+) is not in the playground"
    r"|module '(?:small_)?numpy' has no attribute|the playground \w+ )"
)
"""Message of the compiler where a package is missing that no browser has."""


def run_command(arguments: list[str]) -> tuple[int, str, str]:
    """Run a command of nczarr; return its status, what it printed and what it said."""
    from nczarr.__main__ import main

    printed, said = (io.TextIOWrapper(io.BytesIO(), "utf-8", "surrogatepass", newline="\n") for _ in range(2))
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(said):
        try:
            status = main(arguments)
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 1
    message = _text(said)
    absent = ABSENT.search(message)
    if absent is not None:
        package = absent["name"] or absent["other"] or "numpy"
        message = f"This needs the package {package}, which this page does not have.\n"
    return status, _text(printed), message


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    return stream.buffer.getvalue().decode("utf-8", "replace")  # type: ignore[attr-defined]


def set_values_aside(text: str) -> str:
    """Return CDL with blanks instead of the values of its data sections, so that every place stays the same.

    Text that is no CDL comes back as it is: the compiler says what is wrong with it.
    """
    failed, printed, _ = run_command(["compile", NAME, "--emit", "tokens"])
    tokens = [] if failed else [json.loads(line) for line in printed.splitlines()]
    data, depth, begin = bytearray(text.encode("utf-8", "surrogatepass")), 0, None
    for token, following in itertools.pairwise([*tokens, END]):
        opens_section = token["kind"] == "keyword" and following["text"] == ":"
        if begin is None:
            if opens_section and token["text"] == "data":
                begin, depth = following["span"]["bytes"][1], 0
        elif (token["text"] == "}" and not depth) or (opens_section and token["text"] == "group"):
            end = token["span"]["bytes"][0]
            data[begin:end] = re.sub(rb"[^\n]", b" ", bytes(data[begin:end]))
            begin = None
        elif token["kind"] == "punctuation":
            depth += {"{": 1, "}": -1}.get(token["text"], 0)
    return data.decode("utf-8", "surrogatepass")


def compile_text(text: str, target: str, emission: str, language: str) -> dict[str, object]:
    """Return what the compiler makes of a schema, without the values of its data sections.

    Parameters
    ----------
    text : str
        CDL.
    target : str
        Format whose plan and keys are shown: `nczarr`, `zarr3` and others.
    emission : str
        One of `EMISSIONS`.
    language : str
        What `nczarr generate` makes: `c`, `python-zarr`, `html` and others.

    Returns
    -------
    dict
        `status` and `diagnostics` of `nczarr check`, and whether there were `values_aside`; `records`, the lines of the
        emission, and `refused`, what was said instead; `files`, the generated texts by name, and `not_generated`, what
        was said instead.
    """
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path(NAME).write_bytes(text.encode("utf-8", "surrogatepass"))
        shortened = set_values_aside(text)
        Path(NAME).write_bytes(shortened.encode("utf-8", "surrogatepass"))
        status, _, diagnostics = run_command(["check", NAME])
        result: dict[str, object] = {"status": status, "diagnostics": diagnostics, "values_aside": shortened != text}
        if status:
            return result | {"records": [], "refused": "", "files": {}, "not_generated": ""}
        choice = ["--to", target] if emission in ("plan", "keys") else []
        failed, printed, said = run_command(["compile", NAME, "--emit", emission, *choice])
        result["records"] = [] if failed else [json.loads(line) for line in printed.splitlines()]
        result["refused"] = said if failed else ""
        failed, _, said = run_command(["generate", language, NAME, "-o", "made"])
        made = {} if failed else {name: Path("made", name).read_text("utf-8") for name in sorted(os.listdir("made"))}
        return result | {"files": made, "not_generated": said if failed else ""}
