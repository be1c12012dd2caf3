"""Synthesis: from a move to the cheapest legal program, with a bound, a reason and a certificate.

Knows: its own parts (`regions`, `space`, `bound`, `search`, `result`, `advice`, `synthesize`).
Does not know: plan files, command lines, how anything is shown.
Law: what is returned was proved by the same check that judges plans; `optimal` is said only with its evidence.
"""
