"""A small plan that is proved: rows of two axes in the other order."""

PLAN = """schema = 1
target = "rngd"
[axes]
A = 8
B = 4
C = 32
[transfer.t]
dtype = "i8"
source = { tier = "hbm", element = "B, A, C" }
dest = { tier = "dm", slice = "1 # 64", element = "A, B, C" }
read = "[A=8:32, B=4:256, C=32:1]:32"
write = "[A=8:128, B=4:32, C=32:1]:32"
"""
