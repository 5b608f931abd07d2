"""The row of the plugin: what it adds, by name. It is loaded often, so it imports nothing else."""

from pathlib import Path

from nczarr.sdk import CommandRow, Plugin, ProtocolRow

PLUGIN = Plugin(
    "esri",
    "ESRI ASCII grids",
    formats={"esri": "nczarr_esri.grid:FORMAT"},
    commands={"esri": CommandRow("nczarr_esri.command:parser", "describe an ESRI ASCII grid", "inspect datasets")},
    checks={"arcgis": "nczarr_esri.check:CHECK"},
    codes=str(Path(__file__).with_name("codes")),
    losses=("esri-grid",),
    codecs={"esri_hex": "nczarr_esri.codec:CODEC"},
    protocols={"esri": ProtocolRow("nczarr_esri.protocol:answer", "ESRI ASCII grid")},
)
