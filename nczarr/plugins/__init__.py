"""Plugins: formats, commands, checks and interfaces that the compiler works without, one folder each.

A folder has `plugin.py`, the row of what it adds, and can be removed whole. `OFFERS`
says which row to load for a name; a test compares it with the rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # public names of `nczarr`, for type checkers
    from nczarr.plugins import testing as testing  # noqa: TC004
    from nczarr.plugins.awkward0 import api as awkward0  # noqa: TC004
    from nczarr.plugins.combine.api_append import append as append  # noqa: TC004
    from nczarr.plugins.combine.api_combine import combine as combine  # noqa: TC004
    from nczarr.plugins.downloads.members import members as members  # noqa: TC004
    from nczarr.plugins.edit.api_edit import edit as edit  # noqa: TC004
    from nczarr.plugins.edit.api_migrate import migrate as migrate  # noqa: TC004
    from nczarr.plugins.flatten.flattening import flatten_groups as flatten_groups  # noqa: TC004
    from nczarr.plugins.flatten.restoring import restore_groups as restore_groups  # noqa: TC004
    from nczarr.plugins.fmt.api_reformat import reformat as reformat  # noqa: TC004
    from nczarr.plugins.generate.api import generate as generate  # noqa: TC004
    from nczarr.plugins.ncstream import api as ncstream  # noqa: TC004
    from nczarr.plugins.pyramid.api import pyramid as pyramid  # noqa: TC004
    from nczarr.plugins.refs import api as refs  # noqa: TC004
    from nczarr.plugins.schema.analysis import analyse as analyse
    from nczarr.plugins.schema.api import changes as changes  # noqa: TC004
    from nczarr.plugins.schema.api import layer as layer  # noqa: TC004
    from nczarr.plugins.virtualizarr import parser as virtualizarr  # noqa: TC004
    from nczarr.plugins.xarray.objects import from_xarray as from_xarray  # noqa: TC004
    from nczarr.plugins.zarr_drafts import api as zarr3_2019  # noqa: TC004
    from nczarr.plugins.zarr_python.open import zarr_store as zarr_store  # noqa: TC004

    __all__ = [
        "append",
        "awkward0",
        "changes",
        "combine",
        "edit",
        "flatten_groups",
        "from_xarray",
        "generate",
        "layer",
        "members",
        "migrate",
        "ncstream",
        "pyramid",
        "reformat",
        "refs",
        "restore_groups",
        "testing",
        "virtualizarr",
        "zarr3_2019",
        "zarr_store",
    ]

OFFERS: dict[str, tuple[str, ...]] = {
    "ncml": ("format ncml", "codes"),  # first: formats are listed and detected in this order
    "awkward0": ("format awkward0", "name awkward0", "codes"),
    "builds": ("wrapper compile", "wrapper convert", "wrapper rechunk"),
    "cf": ("convention cf", "declaration geo", "fact_form stac", "codes"),
    "combine": (
        *("format cfa", "command append", "command combine", "command refs combine", "command refs append"),
        *("name append", "name combine", "name refs.append", "name refs.combine"),
        *("comparison combine", "expansion aggregated_data", "codes"),
        *("resize nczarr", "resize zarr2", "resize zarr3", "resize nczarr3"),
    ),
    "damage": ("data_check data", "wrapper check", "codes"),
    "dask": ("lazy_array __dask_graph__", "executor dask"),
    "dmrpp_edit": ("edit dmrpp",),
    "downloads": (*("container file", "container member", "hint answer", "name members", "wrapper *", "codes"),),
    "edit": (
        *("command edit", "command migrate", "name edit", "name migrate", "codes"),
        *("edit netcdf4", "edit netcdf3", "edit reference", "edit nczarr", "edit zarr2", "edit zarr3", "edit nczarr3"),
    ),
    "flatten": (
        "wrapper compile:groups",
        "wrapper convert:groups",
        "name flatten_groups",
        "name restore_groups",
        "codes",
    ),
    "fmt": ("command fmt", "name reformat", "style cdl", "style notation"),
    "generate": ("command generate", "name generate"),
    "hdfeos": ("expansion HDFEOS INFORMATION", "codes"),
    "icechunk": ("format icechunk", "command revisions", "location icechunk", "folder snapshots"),
    "languages": ("language cdl", "language notation"),
    "lsp": ("command lsp",),
    "matlab": ("expansion MATLAB_class",),
    "n5": ("format n5", "codec n5_block"),
    "ncstream": ("format ncstream", "name ncstream", "location cdmremote", "codes"),
    "notebook": ("representation group", "representation variable"),
    "nwb": ("command nwb", "codes"),
    "opendap": (*("format dap2", "format dap4", "format dmrpp", "location dap2", "location dap4", "codes"),),
    "pygments": (),
    "pyramid": ("command pyramid", "name pyramid", "check ome", "codes"),
    "rare_codecs": (
        *("codec crc32", "codec adler32", "codec jenkins_lookup3", "codec base64", "codec bitround"),
        *("codec packbits", "codec delta", "codec fixedscaleoffset", "codec quantize", "codec astype"),
        *("codec zfpy", "codec pcodec", "codec cast_value", "codec scale_offset"),
        *("codec categorize", "codec json2", "codec msgpack2"),
    ),
    "readers": (
        "check netcdf-c",
        "check zarr-python",
        "check xarray",
        "check tensorstore",
        "check zarrs",
        "check xarray-tensorstore",
        "check gdal",
        "check nz",
        "check geo",
        "check cloud",
        "check cmip7",
        "declaration nz",
        "demand cmip7",
        "codes",
    ),
    "refs": (
        *("command refs verify", "command refs expand", "command refs compact"),
        *("command refs ls", "command refs cat", "name refs"),
        *("template reference", "codes"),
    ),
    "remote": ("place *",),
    "schema": (
        *("emission tokens", "emission ast", "emission analysed", "emission plan", "emission keys"),
        *(
            "schema_check schema",
            "judgement compat",
            "schema_reader layers",
            "name analyse",
            "name changes",
            "name layer",
        ),
        *("product plugin", "explanation key", "wrapper diff", "codes", "differences"),
    ),
    "second_reader": ("verification verify", "verification share"),
    "serve": ("command serve",),
    "testing": ("name testing",),
    "unpack": ("change unpack", "codes"),
    "virtualizarr": ("name virtualizarr", "opener virtualizarr", "hint parser"),
    "xarray": (
        *("name from_xarray", "object pandas", "object xarray"),
        *("array pandas", "array pint", "array pyarrow", "array xarray", "codes"),
    ),
    "zarr_drafts": ("format zarr3-2019", "name zarr3_2019", "dialect pull_request_3068", "edit zarr3-2019", "codes"),
    "zarr_python": ("name zarr_store",),
}
"""Additions of each plugin: `command NAME`, `name NAME` of the package `nczarr`, and so on; see `Found.offers`."""
