"""`import nczarr.virtualizarr`: the module `nczarr.plugins.virtualizarr.parser` by its public name."""

import sys

from nczarr.plugins.virtualizarr import parser

sys.modules[__name__] = parser
