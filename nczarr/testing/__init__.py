"""For tests of programs that use nczarr: strategies of valid datasets, their data, and comparison of arrays.

`strategies` needs hypothesis, which the compiler itself does not.
"""
