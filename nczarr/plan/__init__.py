"""Plans: what a target will hold, decided before its first byte is written.

`planner.plan` makes a `Plan` from `Checked`, a format and the options of a run; back ends accept nothing else.
"""
