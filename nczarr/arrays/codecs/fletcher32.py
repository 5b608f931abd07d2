"""Fletcher32: HDF5's checksum."""

from nczarr.arrays.codecs.table import CodecKind, Parameters


class Fletcher32(CodecKind):
    """HDF5's checksum, by numcodecs. HDF5 notes parameters of its own."""

    config_id = "fletcher32"
    stage = "bytes"
    length_added = 4

    def essence(self, parameters: Parameters) -> Parameters:
        return ()


CODECS = (Fletcher32(),)
