"""Datasets on OPeNDAP servers: `dap2:` or `dap4:` before a web URL, or instead of `http:`."""

from __future__ import annotations

import re

from nczarr.plugins.common.dataset_service import ServiceProtocol, make_kind

DAP2 = make_kind(
    ServiceProtocol("an OPeNDAP server", "a DDS", (".dds",), re.compile(rb"\s*dataset\s*\{", re.IGNORECASE))
)

DAP4 = make_kind(
    ServiceProtocol(
        "an OPeNDAP server",
        "a DMR",
        (".dmr.xml", ".dmr"),  # Hyrax has the first, THREDDS the second
        re.compile(
            rb"(?:\xef\xbb\xbf)?\s*(?:<\?(?:[^?]|\?(?!>))*\?>\s*)?<(?:\w+:)?Dataset\s[^>]*"
            rb"xml\.opendap\.org/ns/DAP/4",
            re.DOTALL,
        ),
    )
)
