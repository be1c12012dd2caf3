"""The executor: commands run unit by unit into arrays, judged against the literal meaning of the two mappings.

Knows: its modules: `address` (where), `promise` (what), `judge` (copying, judging), `result` and `report` (the answer).
Does not know: digits, refinement, solvers, machines, plan files.
Law: it shares no code with the digits nor the solver, so that they can contradict each other. Importing the package
imports nothing: numpy is loaded where something is executed.
"""
