"""`import nczarr.refs`: the module `nczarr.api.refs` by its public name."""

import sys

from nczarr.api import refs

sys.modules[__name__] = refs
