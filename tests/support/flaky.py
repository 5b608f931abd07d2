"""An object store in memory that fails as it is told to: for tests of what travels.

It tells sizes and MD5 tags as S3 does. `FlakyFileSystem.faults` is asked before each request; it gets a running number,
the name of the method and the path, and says what goes wrong, None for nothing. `requests` has all of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, ClassVar, Literal

import fsspec
from fsspec.implementations.memory import MemoryFileSystem

Fault = Literal["error", "timeout", "after", "short", "wrong", "lost"]
"""A failure; none in time; done, and then a failure; bytes missing at the end; a bit turned round; not done at all."""

FAULTS: tuple[Fault, ...] = ("error", "timeout", "after", "short", "wrong", "lost")


def no_faults(number: int, method: str, path: str) -> Fault | None:
    return None


class FlakyFileSystem(MemoryFileSystem):
    protocol = "flaky"
    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]
    faults: ClassVar[Callable[[int, str, str], Fault | None]] = staticmethod(no_faults)
    requests: ClassVar[list[tuple[str, str]]] = []
    tags: ClassVar[bool] = True

    @classmethod
    def start(cls) -> None:
        cls.store.clear()
        cls.pseudo_dirs[:] = [""]
        cls.requests.clear()
        cls.faults = staticmethod(no_faults)
        cls.tags = True

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        path = path.removeprefix("flaky://").strip("/")
        return "/" + path if path else ""

    def _fault(self, method: str, path: str) -> Fault | None:
        cls = type(self)
        cls.requests.append((method, path))
        found = cls.faults(len(cls.requests) - 1, method, path)
        if found == "error":
            raise OSError(5, "the server has an internal error, token=hush-hush-hush")
        if found == "timeout":
            raise TimeoutError("timed out")
        return found

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **named: Any) -> bytes:
        fault = self._fault("cat_file", path)
        data: bytes = super().cat_file(path, start=start, end=end)
        if fault == "after":
            raise OSError(104, "Connection reset by peer")
        return spoilt(data, fault)

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **named: Any) -> dict[str, str] | None:
        fault = self._fault("pipe_file", path)
        if mode == "create" and self._strip_protocol(path) in self.store:
            raise FileExistsError(path)
        if fault != "lost":
            value = spoilt(value, fault)
            super().pipe_file(path, value)
        if fault == "after":
            raise OSError(104, "Connection reset by peer")
        return {"ETag": f'"{hashlib.md5(value).hexdigest()}"'} if self.tags else None

    def put_file(self, lpath: str, rpath: str, **named: Any) -> None:
        fault = self._fault("put_file", rpath)
        if fault != "lost":
            with open(lpath, "rb") as file:
                super().pipe_file(rpath, spoilt(file.read(), fault))
        if fault == "after":
            raise OSError(104, "Connection reset by peer")

    def get_file(self, rpath: str, lpath: Any, **named: Any) -> None:
        fault = self._fault("get_file", rpath)
        with open(lpath, "wb") as file:
            file.write(spoilt(super().cat_file(rpath), fault))

    def info(self, path: str, **named: Any) -> dict[str, Any]:
        self._fault("info", path)
        return self._told(super().info(self._strip_protocol(path)))

    def find(self, path: str, **named: Any) -> Any:
        self._fault("find", path)
        path = self._strip_protocol(path)
        found = {name: file for name, file in self.store.items() if name.startswith(path + "/") or name == path}
        return {name: self._told({"name": name, "size": file.size, "type": "file"}) for name, file in found.items()}

    def ls(self, path: str, detail: bool = True, **named: Any) -> Any:
        self._fault("ls", path)
        return super().ls(self._strip_protocol(path), detail=detail)

    def rm_file(self, path: str) -> None:
        fault = self._fault("rm_file", path)
        super().rm_file(path)
        if fault == "after":
            raise OSError(104, "Connection reset by peer")

    def _told(self, info: dict[str, Any]) -> dict[str, Any]:
        if info["type"] == "file" and self.tags:
            info["ETag"] = f'"{hashlib.md5(self.store[info["name"]].getvalue()).hexdigest()}"'
        return info


def spoilt(data: bytes, fault: Fault | None) -> bytes:
    if fault == "short":
        return data[:-1]
    if fault == "wrong" and data:
        middle = len(data) // 2
        return data[:middle] + bytes([data[middle] ^ 4]) + data[middle + 1 :]
    return data


fsspec.register_implementation("flaky", FlakyFileSystem, clobber=True)
