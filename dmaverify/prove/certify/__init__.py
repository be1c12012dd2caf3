"""Certificates: questions and answers of a verdict as files.

Knows: SMT-LIB text, hashes, other solvers.
Does not know: how claims are found.
Law: a certificate that was changed is refused.
"""
