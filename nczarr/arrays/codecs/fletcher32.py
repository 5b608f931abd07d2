"""Fletcher32: HDF5's checksum."""

from __future__ import annotations

from nczarr.arrays.codecs.codec_kind import CodecKind, Parameters

FLETCHER32 = 3


class Fletcher32(CodecKind):
    """HDF5's checksum, by numcodecs. HDF5 notes parameters of its own."""

    config_id = "fletcher32"
    number = FLETCHER32
    name = "fletcher32"
    encodes = True
    length_added = 4

    def essence(self, parameters: Parameters) -> Parameters:
        return ()


CODECS = (Fletcher32(),)
