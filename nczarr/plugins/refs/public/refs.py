"""`import nczarr.refs`: the module of the plugin by its public name."""

import sys

from nczarr.plugins.refs import api as refs

sys.modules[__name__] = refs
