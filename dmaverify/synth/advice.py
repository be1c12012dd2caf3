from __future__ import annotations
def why_not_better(result, data, machine):
    return None
