"""Datasets over HTTP, read-only: Zarr v2 and v3, CDM Remote (ncstream), and pages for people.

    request ─ application ─ places (which dataset) ─ opening (its tree, kept) ─┬─ stores: documents and chunks of Zarr
                                                                               ├─ cdmremote: headers, sections, texts
                                                                               └─ pages: what there is, as HTML or JSON
    answers (ranges, conditions) ─ delivery (back pressure)          workers: everything that reads, in bounded threads

Invariants: nothing is written below the root; nothing outside of it is read unless the caller allows it; no answer is
begun whose size is over the limit; the event loop never waits for a file, a library or a slow client.
"""
