"""Plans with symbols: one verdict for all sizes, and the sizes for which a plan holds.

Knows: regions of sizes, symbolic numbers, the judge of symbolic digits, the search for sizes that are left.
Does not know: plan files, how an answer is shown.
Law: PROVED covers every admitted size; a refutation names sizes at which the ordinary checker refutes the plan.
"""
