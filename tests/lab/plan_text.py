"""Texts of plans that tests of several surfaces share."""

HALF_WRITTEN = """\
schema = 1
target = "toy"
[axes]
A = 8
C = 32
[transfer.half]
dtype = "i8"
source = { tier = "gm", base = 0, element = "A, C" }
dest = { tier = "ub", base = 0, element = "A = 4, C" }
read = "[A=4:32, C=32:1]:32"
write = "[A=4:32, C=32:1]:32"
"""
