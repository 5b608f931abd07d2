"""Evolution of schemas: what a change means for programs of the old schema, and for programs of the new one.

`rules` classes changes, `changes` finds them, and `command` prints them for `diff --compat`.
"""
