"""dmaverify: proof for tensor DMA.

    import dmaverify as dv
    dv.mapping("A / 4, B", {"A": 8, "B": 3})
    dv.check("plan.toml")          # verdicts, by proof
    dv.run("plan.toml::relayout")  # numpy, byte by byte

Knows: the public names. Does not know: anything else; each name is imported when it is first used, so that start-up
is cheap.
Law: what is named in `__all__` is the public interface.
"""

from __future__ import annotations

from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "mapping": "dmaverify.api",
    "load": "dmaverify.api",
    "check": "dmaverify.api",
    "run": "dmaverify.api",
    "price": "dmaverify.api",
    "cost": "dmaverify.api",  # the package, which can be called
    "InputError": "dmaverify.errors",
    "InputErrors": "dmaverify.errors",
    "Finding": "dmaverify.verdict",
    "Severity": "dmaverify.verdict",
    "Status": "dmaverify.verdict",
    "Verdict": "dmaverify.verdict",
    "Options": "dmaverify.prove.options",
    "Command": "dmaverify.program.command",
    "Loop": "dmaverify.program.command",
    "Port": "dmaverify.program.command",
    "Engine": "dmaverify.program.command",
    "load_target": "dmaverify.targets.target",
    "synthesize": "dmaverify.api",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'dmaverify' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
