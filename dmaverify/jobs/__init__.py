"""Many plans: files found, judged in processes, cached, repaired, swept.

Knows: verdicts of whole plans, the cache, shards.
Does not know: terminals and exit codes.
Law: the result does not depend on how many processes worked on it.
"""
