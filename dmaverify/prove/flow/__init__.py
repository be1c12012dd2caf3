"""Whole programs: order, hazards, definite initialization, coverage of outputs, lifetimes, starvation, equality.

Knows: steps, regions, events and their happens-before.
Does not know: plan files, kernels' text.
Law: what an analysis cannot follow is UNKNOWN, never a pass.
"""
