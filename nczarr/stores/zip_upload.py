"""A zip archive that is sent when finished; it appears remotely whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile

from nczarr.secrets import NO_OPTIONS, StorageOptions
from nczarr.stores.connection import Connection
from nczarr.stores.spool import send
from nczarr.stores.zip import ZipTarget


class SentZip(ZipTarget):
    """An unfinished archive in a temporary folder."""

    def __init__(self, url: str, options: StorageOptions = NO_OPTIONS) -> None:
        self._connection = Connection(url, options)
        self._folder = tempfile.mkdtemp(prefix="nczarr-")
        super().__init__(os.path.join(self._folder, os.path.basename(self._connection.root)))

    def finish(self) -> None:
        """Write the central directory, and send the archive. Raises OSError."""
        self.seal()
        send(self._connection, self.path)
        self._open = False
        shutil.rmtree(self._folder, ignore_errors=True)

    def abort(self) -> None:
        """Remove the archive unless finished."""
        super().abort()
        shutil.rmtree(self._folder, ignore_errors=True)
