"""Drivers in C: the transfers that a source file launches.

Knows: which module answers which question. `numbers` has typed values, `code` the syntax tree and macros, `evaluate`
constant expressions, `aggregates` what arrays and structures hold, `shapes` their types, `objects` which of them an
expression means, `uses` what may be done to them, `initial` initializers, `run` statements in order, `launches` what a
call or a register access starts.
Does not know: what a descriptor is good for, verdicts.
Law: a launch is read with every argument a constant of C, or it is told as not read, with the reason; none is dropped.
"""
