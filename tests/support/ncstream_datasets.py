"""Streams as other writers make them."""

from __future__ import annotations

from typing import Any

import numpy as np

import nczarr
from nczarr.plugins.ncstream._generated import ncstream_pb2 as pb
from nczarr.plugins.ncstream.wire import framing
from nczarr.plugins.ncstream.wire.protobuf import encode
from tests.support.ncstream_streams import HEADER, START


def without_model(data: bytes) -> bytes:
    """A stream of ours as a sender writes it who knows nothing of the model."""
    incoming = framing.Incoming(data, nczarr.ncstream.Limits())
    start, end = incoming.block(8)
    head = pb.Header.FromString(data[start:end])
    head.ClearField("nczarr")
    head.ClearField("fills")
    made = head.SerializeToString()
    return START + HEADER + encode(len(made)) + made + data[end:]


def plain(value: Any) -> Any:
    """A value without what the wire does not keep: NIL, the order of members, enums and opaque values as such."""
    if isinstance(value, np.void) and value.dtype.names:
        return {name: plain(value[name]) for name in value.dtype.names}
    if isinstance(value, np.ndarray) and value.dtype.names:
        return [plain(each) for each in value]
    if isinstance(value, np.ndarray):
        return [plain(each) for each in value.tolist()] if value.ndim else plain(value[()])
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, np.generic):
        value = value.item()
    return repr(value) if isinstance(value, float) else value
