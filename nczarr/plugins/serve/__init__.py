"""HTTP server for datasets, read-only: Zarr v2 and v3, CDM Remote (ncstream), OPeNDAP, and HTML pages.

    application (Starlette): routes ─ context: places (which dataset), dataset_cache (open trees) ─┐
      ┌────────────────────────────────────────────────────────────────────────────────────────────┘
      ├─ protocols/zarr: documents and chunks      ├─ protocols/opendap: documents and values
      ├─ protocols/cdmremote: headers, texts       ├─ protocols/cdmrfeature: samples, grids
      └─ pages, templates: contents as HTML or JSON
    answers (ranges, conditions, gzip) ─ delivery (back pressure)   resources: all reading, in bounded threads

Invariants: nothing is written below the root; nothing outside it is read unless
the caller allows it; no answer over the size limit is begun; the event loop
never waits for a file, a library or a slow client.
"""
