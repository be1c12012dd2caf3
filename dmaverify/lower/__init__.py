"""From streams, accesses and printed sequencers to commands.

Knows: how each term of a stream becomes loops, and how two printed sides become one nest.
Does not know: whether the commands keep the promise of their move; that is proved.
Law: what cannot be lowered is reported with its place, never dropped.
"""
