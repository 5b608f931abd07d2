"""`import nczarr.awkward0`: the module `nczarr.plugins.awkward0.api` by its public name."""

import sys

from nczarr.plugins.awkward0 import api

sys.modules[__name__] = api
