"""The executor: commands run unit by unit into arrays, judged against the literal meaning of the two mappings.

Knows: its modules: `address` (where), `promise` (what), `run` (copying, judging), `result` and `report` (the answer).
Does not know: digits, refinement, solvers, machines, plan files.
Law: it shares no code with the digits nor the solver, so that they can contradict each other.
"""

from dmaverify.execute.address import Aliased, TooLarge
from dmaverify.execute.report import report_json, report_text
from dmaverify.execute.result import ElementRow, Execution, Violation
from dmaverify.execute.run import execute

__all__ = ["Aliased", "ElementRow", "Execution", "TooLarge", "Violation", "execute", "report_json", "report_text"]
