"""Equality: whether two programs or kernels do the same, event by event or by what they leave in memory.

Knows: events, copies, contents. Does not know: who wrote them, how runs confirm an answer.
Law: `proved` is said of all values and iterations; a difference names a place.
"""
