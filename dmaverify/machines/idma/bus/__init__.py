"""What a simulation shows on the bus, held against what an engine should put there.

Knows: `beats` (reading a trace), `scoreboard` (judging it). Does not know: plans, printing.
Law: every beat of the trace is one that the transfers ask for, and the other way round, or it is told.
"""
