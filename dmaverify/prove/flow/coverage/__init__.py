"""Coverage: what tiles write together, what twice, what never, and what excuses a second write.

Knows: windows of tiles, rows, who reads between two writes. Does not know: text, machines.
Law: an output is whole only where its tiles have each cell, once, or the last write is the one that is meant.
"""
