"""CDL, the text form of netCDF: read like ncgen, written like ncdump, but exactly.

Differences of the output from ncdump: `docs/reference/formats/cdl.md`.
"""

from nczarr.registry import Capabilities, Display, Format, ReadingTraits

FORMAT = Format(
    name="cdl",
    title="CDL (netCDF text)",
    suffixes=(".cdl",),
    spec="docs/reference/formats/cdl.md",
    capabilities=Capabilities(anonymous_dimensions=False, axis_names=False),
    detects=r"(?:\xef\xbb\xbf)?(?:\s|//[^\n]*\n|/\*.*?\*/)*(?:netcdf|NETCDF|netCDF)(?![A-Za-z0-9_.@+\-])",
    read="nczarr.formats.cdl.read.frontend:read",
    write="nczarr.formats.cdl.write.backend:write",
    losses="nczarr.formats.cdl.write.losses:losses",
    reading=ReadingTraits(resident=2, only_reader=True),
    display=Display(dumped=True, string_escapes="octal"),
)
