"""zarr-python's view of a store: v3 if the root has both versions; groups and arrays with documents only."""

from __future__ import annotations

from collections.abc import Iterator

from nczarr.operations.readers.documents import StoreDocument, StoreDocuments, StoreNode


class ZarrView:
    """A store as zarr-python sees it.

    `nodes`: reached groups and arrays; `lost`: the first missing document on each
    path.
    """

    def __init__(self, documents: StoreDocuments) -> None:
        self.documents = documents
        self.version = documents.version
        self.root = documents.tree(self.version)
        self.nodes: list[StoreNode] = []
        self.lost: list[StoreNode] = []
        self._enter(self.root)

    def _enter(self, node: StoreNode) -> None:
        if node.document is None:
            self.lost.append(node)
            return
        self.nodes.append(node)
        for member in node.members:
            self._enter(member)

    @property
    def arrays(self) -> Iterator[StoreNode]:
        """Arrays whose document is an object."""
        return (
            node for node in self.nodes if node.is_array and node.document and isinstance(node.document.value, dict)
        )

    def read(self) -> Iterator[StoreDocument]:
        """Yield all documents that it reads."""
        for node in self.nodes:
            for document in (node.document, node.attributes if node.version == 2 else None):
                if document is not None:
                    yield document
        consolidated = self.documents.get(".zmetadata") if self.version == 2 else None
        if consolidated is not None:
            yield consolidated
