"""The row of the format."""

from __future__ import annotations

from nczarr.registry import Capabilities, Display, Format, ReadingTraits

FORMAT = Format(
    name="ncstream",
    title="ncstream, the stream of CDM Remote",
    suffixes=(".ncs",),
    spec="https://docs.unidata.ucar.edu/netcdf-java/current/developerguide/ncstream.html",
    capabilities=Capabilities(codecs=frozenset({1})),
    detects=r"CDFS|\xad[\xec\xed][\xce\xde]\xda|\xab[\xeb\xec][\xbe\xce]\xba|\xab\xed\xde\xba|\xab\xad\xba\xda"
    r"|\xfa\xfa\xaf\xaf|\xf0\xf0\x0f\x0f|\xfe\xfe\xef\xef",
    read="nczarr.plugins.ncstream.read.frontend:read",
    write="nczarr.plugins.ncstream.write.backend:write",
    reading=ReadingTraits(ranged=True, only_reader=True),
    display=Display(binary=True),
)
