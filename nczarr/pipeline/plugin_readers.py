"""Check of what readers of other distributions return: a wrong shape would become a store that contradicts itself."""

from nczarr.names.plugin_index import PluginError
from nczarr.registry import Format
from nczarr.semantics.checked import Checked


def check_arrays(checked: Checked, form: Format) -> None:
    """Raise PluginError if the reader of a plugin's format gives an array that its variable cannot have."""
    is_own = form.read is not None and form.read.startswith("nczarr.")
    for path, parts in () if is_own else checked.parts.items():
        array, shape = parts.get(""), checked.shapes[path]
        if array is not None and array.layout.shape != shape:
            text = f"has an array of the shape {array.layout.shape}, its dimensions have {shape}"
            raise PluginError(f"{form.read}: variable `{path}` {text}")
