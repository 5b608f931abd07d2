"""`import nczarr.testing`: the module `nczarr.plugins.testing` by its public name."""

import sys

from nczarr.plugins import testing

sys.modules[__name__] = testing
