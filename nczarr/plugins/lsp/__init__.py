"""Language server of the texts that people write: CDL and the NCZarr notation.

    server (protocol, threads) ─ documents (text, version, result of the pipeline)
      └─ one module a feature: a function of a `View` and the parameters of the request
    names_index (which name means what) ─ positions (bytes, lines and the client's columns)

Invariants: the faults shown are those of the pipeline, which alone parses; a
request sees one version of the text; an exception answers its request as an
error, and the server lives.
"""
