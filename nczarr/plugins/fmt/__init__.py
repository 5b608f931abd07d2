"""Formatting of CDL and the notation in one style: the command `fmt`, and `nczarr.reformat`."""
