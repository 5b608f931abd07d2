"""Codecs of numcodecs that it decodes itself, and that only turn bytes into bytes or numbers."""

from __future__ import annotations

import math
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from nczarr.arrays.codecs.table import TOO_MUCH, CodecKind, Config, Step
from nczarr.arrays.lazy_numpy import np


class Checksum(CodecKind):
    """Checksum of four bytes before the chunk."""

    length_added = 4


class Crc32(Checksum):
    """CRC-32."""

    config_id = "crc32"
    stage = "bytes"


class Adler32(Checksum):
    """Adler-32."""

    config_id = "adler32"
    stage = "bytes"


class JenkinsLookup3(CodecKind):
    """Jenkins' checksum."""

    config_id = "jenkins_lookup3"
    stage = "bytes"


class Base64(CodecKind):
    """Base64."""

    config_id = "base64"


class BitRound(CodecKind):
    """Rounding of floats, whose decoding changes nothing."""

    config_id = "bitround"
    stage = "array"

    def is_lossy(self, step: Config) -> bool:
        return True


class PackBits(CodecKind):
    """Booleans as bits."""

    config_id = "packbits"
    stage = "array"
    expansion = 8


class Delta(CodecKind):
    """Differences of neighbours."""

    config_id = "delta"
    stage = "array"

    def dtypes(self, step: Config) -> tuple[Any, Any] | None:
        return step.get("astype") or step.get("dtype"), step.get("dtype")

    def is_lossy(self, step: Config) -> bool:
        """Return whether differences are rounded, or longer than their dtype. Those of integers of one dtype wrap."""
        stored, decoded = map(np.dtype, self.dtypes(step) or ())
        return decoded.kind not in "iu" or not np.can_cast(decoded, stored)


class FixedScaleOffset(Delta):
    """Scaled numbers as integers."""

    config_id = "fixedscaleoffset"
    stage = "array"

    def is_lossy(self, step: Config) -> bool:
        return True


class QuantizeFilter(Delta):
    """Numbers of few digits."""

    config_id = "quantize"
    stage = "array"

    def is_lossy(self, step: Config) -> bool:
        return True


class AsType(CodecKind):
    """Numbers of another type."""

    config_id = "astype"
    stage = "array"

    def dtypes(self, step: Config) -> tuple[Any, Any] | None:
        return step.get("encode_dtype"), step.get("decode_dtype")

    def is_lossy(self, step: Config) -> bool:
        stored, decoded = map(np.dtype, self.dtypes(step) or ())
        return not np.can_cast(decoded, stored)

    def with_fill(self, step: Step, fill: bytes) -> tuple[Step, bytes]:
        return step, np.frombuffer(fill, step["decode_dtype"]).astype(step["encode_dtype"]).tobytes()


class LibraryCodec(CodecKind):
    """Codec that makes bytes of an array, for which numcodecs needs a library of the same name."""

    def decode(self, data: bytes, step: Config, itemsize: int, limit: int) -> bytes:
        if find_spec(self.config_id) is None:
            raise ValueError(f"codec `{self.config_id}` needs a library: `pip install {self.config_id}`")
        try:
            return super().decode(data, step, itemsize, limit)
        except Exception as error:  # the libraries raise anything
            raise ValueError(f"codec `{self.config_id}`: {error}") from error


class Zfpy(LibraryCodec):
    """ZFP, whose chunks state type and shape."""

    config_id = "zfpy"

    def decode(self, data: bytes, step: Config, itemsize: int, limit: int) -> bytes:
        if find_spec(self.config_id) is not None:
            header = import_module(self.config_id).header(data)
            if math.prod(header[name] or 1 for name in ("nx", "ny", "nz", "nw")) * itemsize > limit:
                raise ValueError(TOO_MUCH)
        return super().decode(data, step, itemsize, limit)


class Pcodec(LibraryCodec):
    """Pcodec, for sequences of numbers."""

    config_id = "pcodec"


CRC32 = Crc32()
ADLER32 = Adler32()
JENKINS_LOOKUP3 = JenkinsLookup3()
BASE64 = Base64()
BITROUND = BitRound()
PACKBITS = PackBits()
DELTA = Delta()
FIXEDSCALEOFFSET = FixedScaleOffset()
QUANTIZE = QuantizeFilter()
ASTYPE = AsType()
ZFPY = Zfpy()
PCODEC = Pcodec()
