"""Order: which accesses of a program or kernel are in order, and which that meet are not (hazards); flags, other cores.

Knows: events, pipes and what makes them wait for each other.
Does not know: whether anything was written before, what lies in memory.
Law: a hazard is two accesses that meet and that nothing orders; what is not followed is open.
"""
