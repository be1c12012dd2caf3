"""Definite initialization: whether all that is read was written before, in bytes of kernels and in rows of programs.

Knows: accesses, order of issue. Does not know: what tiles make together, values.
Law: a cell counts as written only where every way to the read writes it.
"""
