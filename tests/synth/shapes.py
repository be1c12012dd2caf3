"""Moves of a transformer of 7 to 12 billion weights: rows of 3,840 and 15,360, 120-byte scales, 1 and 2 clusters."""

from __future__ import annotations

from moves import move

HBM, DM, AWAY = "hbm", "dm", 1 << 28


def _two(axis: str, size: int, tail: str) -> dict[str, object]:
    rows = size // 512
    return {
        "tier": DM,
        "cluster": f"{axis} / {size // 2}",
        "slice": f"{axis} / {rows} % 256",
        "element": f"{axis} % {rows}, {tail}",
    }


def shapes():
    """(name, axes, move) of every shape."""
    out = []

    def add(name, axes, source, dest, dtype):
        out.append((f"{name}, {dtype}", axes, move(axes, source, dest, dtype)))

    for dtype in ("bf16", "f8e4m3", "i4"):
        axes = {"O": 3840, "I": 3840}
        spread = {"tier": DM, "slice": "O / 15", "element": "O % 15, I"}
        add("weights 3,840 x 3,840, one cluster", axes, {"tier": HBM, "element": "O, I"}, spread, dtype)
        axes = {"O": 15360, "I": 3840}
        if dtype != "bf16":
            add(
                "weights 15,360 x 3,840, two clusters",
                axes,
                {"tier": HBM, "element": "O, I"},
                _two("O", 15360, "I"),
                dtype,
            )
        axes = {"T": 128, "H": 15360}
        rows = {"tier": DM, "slice": "T # 256", "element": "H"}
        add("activations 128 x 15,360", axes, {"tier": HBM, "element": "T, H"}, rows, dtype)
        add("activations 128 x 15,360, stored", axes, rows, {"tier": HBM, "element": "T, H"}, dtype)
        axes = {"L": 2048, "N": 8, "D": 128}
        heads = {"tier": DM, "slice": "N, L / 64", "element": "L % 64, D"}
        add("KV cache, heads to slices", axes, {"tier": HBM, "element": "L, N, D"}, heads, dtype)
        both = {"tier": DM, "cluster": "N / 4", "slice": "N % 4, L / 32", "element": "L % 32, D"}
        add("KV cache, stored by heads, two clusters", axes, both, {"tier": HBM, "element": "N, L, D"}, dtype)
        axes = {"T": 512, "N": 32, "D": 128}
        there = {"tier": HBM, "base": AWAY, "element": "N, T, D"}
        add("head split in HBM", axes, {"tier": HBM, "element": "T, N, D"}, there, dtype)
        split = {"tier": DM, "slice": "N, T / 64", "element": "T % 64, D"}
        add("head split into slices", axes, {"tier": HBM, "element": "T, N, D"}, split, dtype)
    axes = {"O": 3840, "S": 120}
    spread = {"tier": DM, "slice": "O / 15", "element": "O % 15, S"}
    add("block scales of 120 B", axes, {"tier": HBM, "element": "O, S"}, spread, "f8e4m3")
    add("block scales of 120 B, stored", axes, spread, {"tier": HBM, "element": "O, S"}, "f8e4m3")
    axes = {"O": 15360, "S": 120}
    add("block scales of 120 B, two clusters", axes, {"tier": HBM, "element": "O, S"}, _two("O", 15360, "S"), "f8e4m3")
    return out
