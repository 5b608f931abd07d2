"""`import nczarr.zarr3_2019`: the module `nczarr.plugins.zarr_drafts.api` by its public name."""

import sys

from nczarr.plugins.zarr_drafts import api

sys.modules[__name__] = api
