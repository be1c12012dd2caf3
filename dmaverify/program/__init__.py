"""Programs as data: accesses, commands, views, gathers, steps and their order, kernels as trees of events.

Knows: what a program says.
Does not know: machines, proofs, plan files.
Law: values are frozen; nothing here decides whether a program is right.
"""
