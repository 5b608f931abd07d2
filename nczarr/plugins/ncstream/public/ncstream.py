"""`import nczarr.ncstream`: the module `nczarr.plugins.ncstream.api` by its public name."""

import sys

from nczarr.plugins.ncstream import api

sys.modules[__name__] = api
