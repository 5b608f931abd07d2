"""Plans: layout and losses of a target, decided before its first byte is written.

`planner.plan_target` makes a `Plan` from `Checked`, a format and options. Back ends
accept nothing else.
"""
