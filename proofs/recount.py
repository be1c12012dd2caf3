"""Counts the requests of a bound again, packet by packet, with nothing but Python: python recount.py

Reads bound.json beside it: nests of packets (bytes), address maps, and what the bound says they load. Exit 1 where a
number differs, 3 where no count was given or there are too many packets to walk.
"""

import json
import sys
from itertools import product
from pathlib import Path

data = json.loads(Path(__file__).with_name("bound.json").read_text(encoding="utf-8"))["counted"]
if not data:
    print("no counts stand behind this bound: it rests on the search alone")
    sys.exit(3)
window = data["maps"]["window"]


def index(address, masks):
    return sum((address & mask).bit_count() % 2 << bit for bit, mask in enumerate(masks))


def count(nest):
    masks = data["maps"]["channel_masks" if nest["tier"] == "hbm" else "dmn_masks"]
    loads, partial, requests = [0] * (1 << len(masks)), [0] * (1 << len(masks)), 0
    for values in product(*(range(n) for n, _ in nest["loops"])):
        at = nest["base"] + sum(v * step for v, (_, step) in zip(values, nest["loops"], strict=True))
        end = at + nest["size"]
        if nest["tier"] == "hbm":
            for start in range(at // window * window, end, window):
                requests += 1
                loads[index(start, masks)] += 1
                if nest["role"] == "write" and (start < at or start + window > end):
                    partial[index(start, masks)] += 1
        else:
            parts = -(-nest["size"] // window)
            requests += parts
            loads[index(at, masks)] += parts
    return requests, loads, partial


bad = 0
if not data.get("walked"):
    print("too many packets to walk: the counts were not counted again")
    sys.exit(3)
for nest, said in zip(data["nests"], data["counts"], strict=True):
    requests, loads, partial = count(nest)
    found = {"requests": requests, "channels": loads, "dmns": loads, "partial": partial}
    for name, value in said.items():
        if name != "each" and value is not None and value != found[name]:
            bad += 1
            print(f"{nest['role']} {nest['tier']}: {name} {value}, counted {found[name]}")
print(f"{len(data['nests'])} nests counted again, {bad} numbers differ")
sys.exit(1 if bad else 0)
