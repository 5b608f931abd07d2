"""Datasets on CDM Remote servers: `cdmremote:` before a web URL, or instead of `http:`."""

from __future__ import annotations

import re

from nczarr.plugins.common.dataset_service import ServiceProtocol, make_kind

KIND = make_kind(
    ServiceProtocol(
        "a CDM Remote server",
        "a stream of messages",
        ("?req=header",),
        re.compile(rb"CDFS|\xad\xec\xce\xda|\xab\xec\xce\xba|\xab\xeb\xbe\xba|\xab\xad\xba\xda"),
        is_binary=True,
    )
)
