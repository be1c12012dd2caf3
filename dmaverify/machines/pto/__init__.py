"""Ascend A5: PTO text in both surfaces, read, followed, judged, emitted, executed.

Knows: the operations of the PTO ISA that concern DMA and the vector unit.
Does not know: plan files, the command line.
Law: an operation that is not understood is reported, never ignored.
"""
