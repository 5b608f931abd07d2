"""szip, which is named and copied, but neither encoded nor decoded here."""

from nczarr.arrays.codecs.table import CodecKind


class Szip(CodecKind):
    """szip, which only the HDF5 library encodes and decodes."""

    config_id = "szip"


CODECS = (Szip(),)
