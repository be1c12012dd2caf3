"""The obligations of one move: same element, coverage, writes once, bounds, padding; their witnesses and repairs.

Knows: digits, commands, the solver's door.
Does not know: other steps of a program.
Law: a verdict other than PROVED names its obligation and its witness, or the reason it is unknown.
"""
