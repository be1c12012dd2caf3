"""Machines as data: limits, rules and costs, read from `encodings/` or from a folder that the user names.

Knows: the format of `target.toml` and `rules.smt2`, address maps, the loader of what a machine computes itself.
Does not know: any machine by name.
Law: a number of a machine stands in its data, with its source.
"""
