"""HTTP server for datasets, read-only: Zarr v2 and v3, CDM Remote (ncstream), OPeNDAP, and HTML pages.

    request ─ application ─ places (which dataset) ─ dataset_cache (open trees) ─┬─ protocols/zarr: documents and chunks
                                                                                 ├─ protocols/cdmremote, ncml
                                                                                 ├─ protocols/dap2, dap4
                                                                                 └─ pages: contents as HTML or JSON
    answers (ranges, conditions) ─ delivery (back pressure)          workers: all reading, in bounded threads

Invariants: nothing is written below the root; nothing outside it is read unless
the caller allows it; no answer over the size limit is begun; the event loop
never waits for a file, a library or a slow client.
"""
