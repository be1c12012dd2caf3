"""Starvation: how long a program may hold a bank beside DMA, and the proof that no longer than the machine allows.

Knows: nests of accesses, banks, what may run at once. Does not know: order but of contexts, contents.
Law: the longest run is no shorter than any that can happen.
"""
