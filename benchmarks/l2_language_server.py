"""Row L2: the language server, from a change of a text to its diagnostics. Goals: 50 ms for 1,000 lines of CDL, 500 ms
for 10,000, twice that for the notation, the median of 30 changes by the clock of the client, pipes and JSON included.
Compared: the diagnostics. The requests of a reader are timed beside it, without a goal."""

from __future__ import annotations

import json
import statistics
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness import OURS, ROOT, main, need, show

MEASURES = ("syntax", "semantics", "plugins/lsp")

CHANGES, QUICK = 30, 6
ATTRIBUTES = (
    'units = "K"', 'long_name = "air temperature"', "_FillValue = 1e20f", "valid_range = 0.f, 400.f",
    'standard_name = "air_temperature"', 'cell_methods = "time: mean"', 'coordinates = "lat lon"',
)  # fmt: skip


def write_cdl(lines: int) -> str:
    """A schema of so many lines: variables with seven attributes each, and some data."""
    text = ["netcdf d {", "dimensions:", " time = UNLIMITED ;", " lat = 180 ;", " lon = 360 ;", "variables:"]
    while len(text) < lines - 10:
        name = f"v{len(text)}"
        text += [f"  float {name}(time, lat, lon) ;", *(f"    {name}:{one} ;" for one in ATTRIBUTES)]
    text = text[: lines - 5]
    return "\n".join([*text, "  float last(time) ;", "data:", " last = 1, 2, 3 ;", "}", ""])


def write_notation(lines: int) -> str:
    """The same in the notation."""
    text = ["dataset d 2.0.0 {", " dimension time unlimited 3", " dimension lat 180", " dimension lon 360"]
    while len(text) < lines - 12:
        text += [f" variable v{len(text)} float /time /lat /lon {{", '  attribute units string "K"']
        text += ['  attribute long_name string "air temperature"', "  chunks 1 180 360", "  codec deflate 5", " }"]
    return "\n".join([*text, " variable last float /time", "}", ""])


class Client:
    """A client of one server, as little of one as the protocol allows."""

    def __init__(self) -> None:
        self.server = subprocess.Popen(
            [*OURS, "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT
        )
        self.number = 0
        self.ask("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
        self.tell("initialized", {})

    def send(self, message: dict[str, Any]) -> None:
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.server.stdin is not None
        self.server.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(data), data))
        self.server.stdin.flush()

    def tell(self, method: str, params: Any) -> None:
        self.send({"method": method, "params": params})

    def receive(self, fits: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The next message that fits."""
        assert self.server.stdout is not None
        while True:
            length = 0
            while line := self.server.stdout.readline().strip():
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            message: dict[str, Any] = json.loads(self.server.stdout.read(length))
            if fits(message):
                return message

    def ask(self, method: str, params: Any) -> Any:
        self.number += 1
        number = self.number
        self.send({"id": number, "method": method, "params": params})
        return self.receive(lambda message: message.get("id") == number)["result"]

    def diagnostics(self, version: int) -> list[str]:
        """The codes of the diagnostics of a version."""
        method = "textDocument/publishDiagnostics"
        fits = self.receive(lambda one: one.get("method") == method and one["params"].get("version") == version)
        return [one["code"] for one in fits["params"]["diagnostics"]]

    def end(self) -> None:
        self.ask("shutdown", None)
        self.tell("exit", None)
        self.server.wait()


def time_changes(client: Client, uri: str, text: str, dimension: str, changes: int) -> list[float]:
    """Seconds of each change, which makes a dimension in the middle unknown, or known again."""
    lines = text.split("\n")
    line = next(n for n in range(len(lines) // 2, len(lines)) if dimension in lines[n])
    column = lines[line].index(dimension) + len(dimension)
    seconds = []
    for number in range(changes):
        version, is_wrong = number + 2, number % 2 == 0
        start, end = {"line": line, "character": column}, {"line": line, "character": column + (not is_wrong)}
        change = {"range": {"start": start, "end": end}, "text": "x" if is_wrong else ""}
        begin = time.perf_counter()
        document = {"uri": uri, "version": version}
        client.tell("textDocument/didChange", {"textDocument": document, "contentChanges": [change]})
        codes = client.diagnostics(version)
        seconds.append(time.perf_counter() - begin)
        if codes != (["undefined-dimension"] if is_wrong else []):
            raise SystemExit(f"benchmark: {codes[:5]} are the wrong diagnostics")
        time.sleep(0.05)
    return seconds


def time_requests(client: Client, uri: str, text: str) -> dict[str, float]:
    """Milliseconds of each request, the median of five."""
    document = {"uri": uri}
    line = next(n for n, words in enumerate(text.split("\n")) if "float" in words) + 1
    place = {"textDocument": document, "position": {"line": line, "character": 15}}
    requests = {
        "hover": place,
        "completion": place,
        "definition": place,
        "documentSymbol": {"textDocument": document},
        "foldingRange": {"textDocument": document},
        "semanticTokens/full": {"textDocument": document},
    }
    result = {}
    for name, params in requests.items():
        seconds = []
        for _ in range(5):
            begin = time.perf_counter()
            client.ask(f"textDocument/{name}", params)
            seconds.append(time.perf_counter() - begin)
        result[name] = round(statistics.median(seconds) * 1000, 1)
    return result


def row(folder: Path, quick: bool) -> bool:
    """Texts of both languages and sizes."""
    need("pygls")
    all_met = True
    for lines in (1000, 10_000):
        for suffix, write, dimension, goal in (
            ("cdl", write_cdl, "lat, lon", lines * 50e-6),
            ("ncz", write_notation, "/lat /lon", lines * 100e-6),
        ):
            client, uri, text = Client(), f"file:///texts/a.{suffix}", write(lines)
            item = {"uri": uri, "languageId": suffix, "version": 1, "text": text}
            client.tell("textDocument/didOpen", {"textDocument": item})
            if codes := client.diagnostics(1):
                raise SystemExit(f"benchmark: the text has the diagnostics {codes[:5]}")
            seconds = time_changes(client, uri, text, dimension, QUICK if quick else CHANGES)
            row = f"L2, {lines} lines of {'CDL' if suffix == 'cdl' else 'notation'}"
            requests = time_requests(client, uri, text)
            milliseconds = [each * 1000 for each in seconds]
            met = show(row, milliseconds, goal * 1000, unit="ms", request_ms=requests, compared="every version")
            all_met = all_met and met
            client.end()
    return all_met


if __name__ == "__main__":
    main(row)
