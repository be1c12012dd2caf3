#!/usr/bin/env python3
# ruff: noqa: B905, C416
"""An independent checker of moves: reads a plan's text, and accepts, refuses, or says what is outside of its domain.

    python proofs/checker.py PLAN.toml [NAME ...]

It is made to be read by whoever does not want to believe the rest: one file, the standard library, no solver, nothing
of the package dmaverify. It has its own reading of TOML values, mappings and sequencers, and its own layouts.

What it shows, for every counter of every command, by identities and inequalities on sums `c + k1 p1 + k2 p2 + ...` of
counters p in 0 .. n - 1:
  1. quotient and remainder: a sum is `q s + r` with 0 <= r < s for all counters iff the least and the greatest value of
     r say so; then q and r are *the* quotient and remainder (Euclid). Counters are cut where that needs it,
     and nests parted in two where a loop has a rest or a sum carries.
  2. bounds: least and greatest value of every position lie in the region.
  3. same element: the sums of each coordinate are the same on both sides, coefficient by coefficient; whatever makes
     a source cell no element does so in the destination.
  4. writes once: every stride is longer than all that lies below it (a ladder); commands write apart in some digit.
  5. covers: as many live writes as live cells, all to different ones.
What it does not judge: the machine's rules, what commands cost, whether a stream gives the commands, source cells that
nobody reads. An answer is `accept`, `refuse` or `outside`; only the first says that the move is right.
"""

import ast
import operator
import re
import sys
import tomllib
from functools import cache
from math import gcd, prod
from pathlib import Path

ENCODINGS = [Path(__file__).resolve().parent.parent / name for name in ("encodings", "_encodings")]
COMMAND_KEYS = {"engine", "unit", "read", "write", "sequencer"}
KEYS = {"dtype", "source", "dest", "stream", "unit", "read", "write", "engine", "limits", "expect", "command",
        "target", "sequencer"}  # fmt: skip
PARTS = 64  # parts of one nest, at most
PLACES = ("chip", "cluster", "slice", "element")
OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Pow: operator.pow}


class Refused(Exception):
    """The plan breaks its promise."""


class Outside(Exception):
    """Not a plan that this checker can judge."""


class Cut(Outside):
    """(counter, place): a sum is a quotient and a remainder on either side of this place of a loop, not across it."""


# ---------------------------------------------------------------- numbers, mappings, sequencers: text to values

TOKEN = re.compile(r"\s*(?:(\d[\d_]*)|([A-Za-z_][A-Za-z0-9_]*'*)|(#\{[*0!]\}|->|[-+*/%=!@#^()\[\]{},:$]))")


def tokens(text):
    found, at = [], 0
    text = text.rstrip()
    while at < len(text):
        token = TOKEN.match(text, at)
        if token is None:
            raise Outside(f"`{text[at : at + 12]}`")
        found.append(token.group().strip().replace("_", "") if token.group(1) else token.group().strip())
        at = token.end()
    return [*found, ""]


class Text:
    """Tokens with a place among them."""

    def __init__(self, text):
        self.tokens, self.at = tokens(text), 0

    def peek(self):
        return self.tokens[self.at]

    def take(self, wanted=None):
        token = self.tokens[self.at]
        if wanted is not None and token != wanted:
            raise Outside(f"`{token}` where `{wanted}` is read")
        self.at += 1
        return token


def number(text, names):
    """Sums, products and powers of integers and named constants."""

    def value(node):
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return node.value
        if isinstance(node, ast.Name) and node.id in names:
            return names[node.id]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -value(node.operand)
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            left, right = value(node.left), value(node.right)
            if not isinstance(node.op, ast.Pow) or 0 <= right <= 64:
                return OPERATORS[type(node.op)](left, right)
        raise Outside(f"the number `{text}`")

    try:
        return value(ast.parse(text.strip().replace("^", "**"), mode="eval").body)
    except SyntaxError:
        raise Outside(f"the number `{text}`") from None


def mapping(text, axes, lets):
    source = Text(text)
    found = pair(source, axes, lets)
    source.take("")
    return found


def pair(source, axes, lets):
    """Trees are tuples: what, size, then the parts."""
    parts = [term(source, axes, lets)]
    while source.peek() in (",", "*"):
        source.take()
        if source.peek() in ("", ")", "]", "}"):
            break
        parts.append(term(source, axes, lets))
    found = parts[-1]
    for part in reversed(parts[:-1]):
        found = ("pair", part[1] * found[1], part, found)
    return found


def term(source, axes, lets):
    token = source.take()
    if token == "m" and source.peek() == "!":
        source.take()
        token = source.take("[")
    if token in ("(", "[", "{"):
        found = pair(source, axes, lets)
        source.take({"(": ")", "[": "]", "{": "}"}[token])
    elif token.isdigit():
        found = ("copies", int(token))
    elif token in lets:
        found = mapping(lets[token], axes, {k: v for k, v in lets.items() if k != token})
    elif token in axes:
        found = ("axis", axes[token], token)
    else:
        raise Outside(f"`{token}` in a mapping")
    while source.peek() and source.peek() not in (",", ")", "]", "}", "*"):
        sign = source.take()
        braced = source.peek() == "{"
        if braced:
            source.take()
        number = source.take()
        if braced:
            source.take("}")
        if not number.isdigit():
            raise Outside(f"`{sign} {number}` in a mapping")
        found = postfix(found, sign, int(number), source)
    return found


def postfix(inner, sign, number, source):
    size = inner[1]
    if sign == "+":
        sign, number = source.take(), size + number
    if sign == "/" and number and size % number == 0:
        return ("div", size // number, inner, number)
    if sign == "%" and number and size % number == 0:
        return ("mod", number, inner)
    if sign in ("=", "!") and number:
        return ("mod", number, inner)
    if sign == "@" and number < size:
        return ("drop", size - number, inner, number)
    if sign[:1] == "#" and number >= size:
        return ("pad", number, inner, {"#": "top", "#{*}": "top", "#{0}": "zero", "#{!}": "bottom"}[sign])
    raise Outside(f"`{sign} {number}` on {size} positions")


def sequencer(text, names, scale):
    """Entries as (count, stride), the packet, and the medium as (tier, parts of a base) or None; in units."""
    head, _, tail = text.rpartition("]")
    entries = []
    for entry in split(head.strip().removeprefix("[")):
        count, _, step = re.split(r"=|->", entry)[-1].partition(":")
        entries.append((value_of(count, {}, 1), value_of(step, names, scale)))
    found = re.fullmatch(r"\s*:\s*([^@A-Z]+?)\s*((?:[A-Z@].*)?)", tail, re.DOTALL)
    if found is None:
        raise Outside(f"`{tail.strip()}` behind the entries")
    packet = value_of(found.group(1), {}, 1) * scale
    if not entries:
        entries.append((packet, 1))
    elif scale > 1 and entries[-1][1] == scale:
        entries[-1] = (entries[-1][0] * scale, 1)
    elif scale > 1:
        entries.append((scale, 1))
    return entries, packet, medium(found.group(2), names, scale) if found.group(2) else None


def unpaired(text):
    """The read and write texts of `[n:(r, w), ...]:packet, base=(r, w), media_source=R, ...`, and its engine."""
    head, _, tail = text.rpartition("]")
    packet, *settings = split(tail.strip()[1:])
    if "=" in packet:
        packet, settings = None, [packet, *settings]
    given = {key.strip(): value.strip() for key, _, value in (one.partition("=") for one in settings)}
    if len(given) < len(settings) or set(given) - {"base", "stride0", "media_source", "media_dest", "DmnIndex"}:
        raise Outside(f"`{tail.strip()}` behind the entries")
    if (packet is None) == ("stride0" not in given):
        raise Outside("a paired text with no packet, or two")
    sides = []
    for k, key in enumerate(("media_source", "media_dest")):
        lines = [(count, inside(steps)) for count, _, steps in (e.rpartition(":") for e in split(head.strip()[1:]))]
        base = f"@{inside(given['base'])[k].strip()}" if "base" in given else ""
        entries = ", ".join(f"{count}:{steps[k]}" for count, steps in lines)
        sides.append(f"[{entries}]:{packet or given['stride0']} {given.get(key, '')}{base}")
    index = given.get("DmnIndex")
    return sides, index and dict(zip(("chip", "cluster", "dmn"), [number(part, {}) for part in inside(index)]))


def inside(text):
    """Both, or all, of what stands in round brackets."""
    parts = split(text.strip()[1:-1])
    if text.strip()[:1] != "(" or text.strip()[-1:] != ")" or len(parts) < 2:
        raise Outside(f"`{text}` where a pair in brackets is read")
    return parts


def medium(text, names, scale):
    tier, at, base = text.partition("@")
    tier, base = tier.strip().removesuffix("/D").lower(), base.strip()
    if not at:
        return tier, None
    parts = split(base[1:-1]) if base.startswith("(") and base.endswith(")") and "," in base else [base]
    return tier, [value_of(p, {}, 1) for p in parts[:-1]] + [value_of(parts[-1], names, scale)]


def value_of(text, names, scale):
    """A number in units: what is written counts `scale` units, constants have their own."""
    plain = number(text, dict.fromkeys(names, 0))
    return plain * scale + number(text, names) - plain


def split(text):
    """At the commas that stand in no brackets."""
    out, depth, start = [], 0, 0
    for index, char in enumerate(text):
        depth += (char in "([{") - (char in ")]}")
        if char == "," and depth == 0:
            out.append(text[start:index])
            start = index + 1
    return [part for part in [*out, text[start:]] if part.strip()]


def common(read, write):
    """Loops (count, read step, write step) of two lists of entries: the longer is cut at the shorter, from inside."""
    a, b, out = [list(e) for e in read if e[0] > 1], [list(e) for e in write if e[0] > 1], []
    while a and b:
        count = min(a[-1][0], b[-1][0])
        if a[-1][0] % count or b[-1][0] % count:
            return None
        out.append((count, a[-1][1], b[-1][1]))
        for side in (a, b):
            if side[-1][0] == count:
                side.pop()
            else:
                side[-1] = [side[-1][0] // count, side[-1][1] * count]
    return None if a or b else out[::-1]


def merged(entries):
    out = []
    for count, step in reversed([e for e in entries if e[0] > 1]):
        if out and step == out[-1][0] * out[-1][1]:
            out[-1] = [count * out[-1][0], out[-1][1]]
        else:
            out.append([count, step])
    return out[::-1]


# ---------------------------------------------------------------- sums of counters


class Box:
    """Counters with their counts. A sum is (constant, {counter: factor})."""

    def __init__(self, counts):
        self.counts = {i: n for i, n in enumerate(counts) if n > 1}
        self.cuts = {}

    def full(self, form):
        """The sum over counters that were not cut."""
        constant, terms = form
        while any(name in self.cuts for name in terms):
            out = {}
            for name, k in terms.items():
                high, low, at = self.cuts.get(name, (name, None, 1))
                out[high] = out.get(high, 0) + k * at
                if low is not None:
                    out[low] = out.get(low, 0) + k
            terms = out
        return constant, {n: k for n, k in terms.items() if k}

    def ends(self, form):
        constant, terms = self.full(form)
        reach = [k * (self.counts[n] - 1) for n, k in terms.items()]
        return constant + sum(min(0, r) for r in reach), constant + sum(max(0, r) for r in reach)

    def divide(self, form, size):
        """Quotient and remainder as sums. Raises Outside where they are none."""
        for _ in range(64):
            constant, terms = self.full(form)
            high = constant // size, {n: k // size for n, k in terms.items() if k % size == 0}
            low = constant % size, {n: k for n, k in terms.items() if k % size}
            least, most = self.ends(low)
            if least >= 0 and most < size:
                return high, low
            for name, k in low[1].items():
                count, at = self.counts[name], size // abs(k)
                if size % abs(k) == 0 and at > 1 and count > at:
                    if count % at:
                        raise Cut(name, count - count % at)
                    self.cut(name, at)
                    break
            else:
                for name, k in sorted(low[1].items(), key=lambda term: -abs(term[1])):
                    at = -(-(size - low[0]) // k) if k > 0 else low[0] // -k + 1
                    if 0 < at < self.counts[name]:
                        raise Cut(name, at)
                raise Outside(f"a sum that carries into its quotient by {size}")
        raise Outside("too many cuts")

    def cut(self, name, at):
        high, low = (name, "h", at), (name, "l", at)
        self.cuts[name] = high, low, at
        count = self.counts.pop(name)
        self.counts |= {key: n for key, n in ((high, count // at), (low, at))}


def nests(constants, loops, judge):
    """The sum of what `judge(box, sums)` counts in a nest of (count, step of each sum), or in its parts."""
    todo, total = [(constants, loops)], 0
    for _ in range(PARTS):
        constants, loops = todo.pop()
        box = Box([n for n, _ in loops])
        sums = [(c, {i: s[k] for i, (n, s) in enumerate(loops) if n > 1}) for k, c in enumerate(constants)]
        try:
            total += judge(box, sums)
        except Cut as place:
            todo += parts(constants, loops, *place.args)
        if not todo:
            return total
    raise Outside(f"more than {PARTS} parts of a nest")


def parts(constants, loops, name, at):
    while isinstance(name, tuple) and isinstance(name[0], tuple):
        name = name[0]
    i = name[0] if isinstance(name, tuple) else name
    (count, steps), before, behind = loops[i], loops[:i], loops[i + 1 :]
    if name != i:  # the counter is a digit of loop i: that loop as two
        at = name[2]
        return [(constants, [*before, (count // at, [s * at for s in steps]), (at, steps), *behind])]
    return [([c + start * s for c, s in zip(constants, steps)], [*before, (n, steps), *behind])
            for start, n in ((0, at), (at, count - at))]  # fmt: skip


def implies(box, one, other):
    """Whether `form < bound` gives the other `form < bound`, by what a multiple of the first leaves of the second."""
    (form, bound, _), (wanted, limit, _) = one, other
    (constant, terms), wide = box.full(form), box.full(wanted)[1]
    step = gcd(*terms.values()) or 1
    most, unit = (bound - 1 - constant) // step, (0, {n: k // step for n, k in terms.items()})
    scales = {wide[n] // k for n, k in unit[1].items() if n in wide}
    return any(s > 0 and box.ends(add(wanted, unit, -s))[1] + s * most < limit for s in scales)


def add(a, b, k=1):
    terms = dict(a[1])
    for name, factor in b[1].items():
        terms[name] = terms.get(name, 0) + k * factor
    return a[0] + k * b[0], terms


def times(form, k):
    return form[0] * k, {n: f * k for n, f in form[1].items()}


# ---------------------------------------------------------------- cells


def visit(tree, at, box, tests, sums):
    """`tests` gets (sum, bound, kind): at or above the bound the cell is of this kind; `sums` the coordinates."""
    what, size = tree[0], tree[1]
    if what == "axis":
        tests.append((at, size, "out"))
        sums[tree[2]] = add(sums.get(tree[2], (0, {})), at)
    elif what == "copies":
        tests.append((at, size, "out"))
    elif what == "div":
        visit(tree[2], times(at, tree[3]), box, tests, sums)
    elif what == "mod":
        tests.append((at, size, "out"))
        visit(tree[2], at, box, tests, sums)
    elif what == "pad":
        tests.append((at, size, "out"))
        tests.append((at, tree[2][1], tree[3]))
        visit(tree[2], at, box, tests, sums)
    elif what == "drop":
        visit(tree[2], add(at, (tree[3], {})), box, tests, sums)
    else:
        high, low = box.divide(at, tree[3][1])
        visit(tree[2], high, box, tests, sums)
        visit(tree[3], low, box, tests, sums)


def cell(tensor, at, box, axes):
    """Conditions that are neither always so nor never, and coordinates; the box may be cut on the way."""
    tests, sums = [], {}
    for place in PLACES:
        if place in at:
            visit(tensor[place], at[place], box, tests, sums)
        elif tensor[place][1] != 1:
            raise Outside(f"a mapping of {place}s in this tier")
    tests += [(form, axes[axis], "top") for axis, form in sums.items()]
    open_ = []
    for form, bound, kind in tests:
        _, most = box.ends(form)
        shadowed = any(bound >= b and freeze(box, form) == freeze(box, f) for f, b, _ in open_)
        if most >= bound and not shadowed:
            open_.append((form, bound, kind))
    return open_, sums


def positions(tensor, tier, port, address, box, width):
    """Where an address lies: a sum for every place, and the unit within the element."""
    at = {}
    for place in tier["places"]:
        start = tensor["at"].get(place, 0)
        if place in ("chip", "cluster"):
            at[place] = (port[place] - start, {})
        else:
            if tensor[place][1] == 1 and tensor["element"][1] * width > tier["steps"][place]:
                raise Outside(f"a {place} shorter than what lies in it")
            high, address = box.divide(address, tier["steps"][place])
            at[place] = add(high, (-start, {}))
    rest = add(address, (-tensor["base"], {}))
    at["element"], unit = box.divide(rest, width) if width > 1 else (rest, (0, {}))
    return at, unit


def count_live(tests, box):
    """How many values of the counters hold no condition: conditions on exact ladders of counters of their own."""
    if any(box.ends(form)[0] >= bound for form, bound, _ in tests):
        return 0
    total, used, kept = prod(box.counts.values()), set(), []
    for test in tests:
        if not any(implies(box, other, test) for other in kept):
            kept = [test, *(other for other in kept if not implies(box, test, other))]
    for form, bound, _ in kept:
        constant, terms = box.full(form)
        key, bound = list(terms.items()), bound - constant
        reach = unit = min(abs(k) for _, k in key)
        for name, k in sorted(key, key=lambda part: part[1]):
            if k != reach or name in used:
                raise Outside("a condition on counters that are no ladder")
            used.add(name)
            reach = k * box.counts[name]
        whole = reach // unit
        total = total // whole * min(whole, max(0, -(-bound // unit)))
    return total


# ---------------------------------------------------------------- a move


def check_move(move):
    """Raises Refused or Outside; else the move is right."""
    dest, width = move["dest"], move["width"]
    written = 0
    for command in move["commands"]:
        loops = [(n, steps) for n, *steps in command["loops"]]
        starts = [command[side]["base"] for side in ("read", "write")]
        written += nests(starts, loops, lambda box, sums, c=command: check_nest(move, c, box, sums))
        once(command)
    for b, two in enumerate(move["commands"]):
        for a in range(b):
            apart(move["commands"][a], two)
    names = [*move["tiers"][1]["places"], "element", "unit"]
    loops = [(dest[n][1] if n != "unit" else width, [n == other for other in names]) for n in names]

    def live_cells(box, sums):
        tests, _ = cell(dest, dict(zip(names[:-1], sums)), box, move["axes"])
        if any(kind == "zero" for _, _, kind in tests):
            raise Outside("zero padding in the destination")
        return count_live(tests, box)

    live = nests([0] * len(names), loops, live_cells)
    if live < 1:
        raise Outside("a destination without live cells")
    if written != live:
        raise Refused(f"{written} units of live cells are written, the destination has {live}")
    regions_apart(move)


def check_nest(move, command, box, forms):
    """How many live units of the destination a nest writes, each with the element that is meant."""
    tensors = (move["source"], move["dest"])
    sides = zip(tensors, move["tiers"], ("read", "write"), forms)
    here = [positions(t, tier, command[side], form, box, move["width"]) for t, tier, side, form in sides]
    for (at, _), tensor, side in zip(here, tensors, ("read", "written")):
        for place, form in at.items():
            least, most = box.ends(form)
            if least < 0 or most >= tensor[place][1]:
                raise Refused(f"{place} {least} to {most} is {side}, the tensor has {tensor[place][1]}")
    read, write = (cell(t, at, box, move["axes"]) for t, (at, _) in zip(tensors, here))
    same_element(read, write, here, box)
    return count_live(write[0], box)


def same_element(read, write, here, box):
    if any(kind in ("bottom", "out", "zero") for _, _, kind in write[0]):
        raise Outside("a command that reaches bottom or zero padding, or cells out of bounds")
    if any(kind == "bottom" for _, _, kind in read[0]):
        raise Outside("a command that reads bottom padding")
    if count_live(write[0], box) == 0:
        return  # only padding is written, which may hold anything
    exact = not write[0] and not read[0]
    for axis, form in read[1].items():
        if freeze(box, form) != freeze(box, write[1].get(axis, (0, {}))):
            raise (Refused if exact else Outside)(f"the coordinate of {axis} is not the same on both sides")
    if freeze(box, here[0][1]) != freeze(box, here[1][1]):
        raise (Refused if exact else Outside)("the unit within the element is not the same on both sides")
    for test in read[0]:
        if not any(implies(box, mine, test) for mine in write[0]):
            raise Outside(f"{test[2]} padding of the source that may reach a live cell")


def freeze(box, form):
    constant, terms = box.full(form)
    return constant, tuple(sorted(terms.items(), key=repr))


def once(command):
    """No two counters write one address: a ladder."""
    reach = 0
    for step, count in sorted((abs(step), count) for count, _, step in command["loops"] if count > 1):
        if step == 0:
            raise Refused("a loop that writes the same addresses again")
        if step <= reach:
            raise Outside("write strides that are no ladder")
        reach += step * (count - 1)


def apart(one, two):
    """Two commands write no common address: other places, or some digit of the address that never meets."""
    a, b = one["write"], two["write"]
    if (a["chip"], a["cluster"]) != (b["chip"], b["cluster"]):
        return
    boxes, forms = [], []
    for command in (one, two):
        boxes.append(Box([n for n, _, _ in command["loops"]]))
        steps = {i: step for i, (count, _, step) in enumerate(command["loops"]) if count > 1}
        forms.append((command["write"]["base"] - min(a["base"], b["base"]), steps))
    if never_meet(boxes, forms):
        return
    sizes = sorted({abs(step) for command in (one, two) for n, _, step in command["loops"] if step and n > 1})
    for size in reversed(sizes):
        try:
            parts = [box.divide(form, size) for box, form in zip(boxes, forms)]
        except Outside:
            continue
        if any(never_meet(boxes, [p[k] for p in parts]) for k in (0, 1)):
            return
        forms = [low for _, low in parts]
    raise Outside("commands whose addresses may meet")


def never_meet(boxes, forms):
    (a, b), (c, d) = (box.ends(form) for box, form in zip(boxes, forms))
    return b < c or d < a


def regions_apart(move):
    source, dest = move["source"], move["dest"]
    if source["tier"] != dest["tier"]:
        return
    for place in move["tiers"][0]["places"]:
        a, b = source["at"].get(place, 0), dest["at"].get(place, 0)
        if a + source[place][1] <= b or b + dest[place][1] <= a:
            return
    ends = [t["base"] + t["element"][1] * move["width"] for t in (source, dest)]
    if not (ends[0] <= dest["base"] or ends[1] <= source["base"]):
        raise Outside("source and destination share bytes")


# ---------------------------------------------------------------- plans


@cache
def machine(name):
    """Tiers, bits of types and constants of a target, from its data."""
    for folder in ENCODINGS:
        file = folder / str(name) / "target.toml"
        if re.fullmatch(r"\w+", str(name)) and file.is_file():
            return tomllib.loads(file.read_text(encoding="utf-8"))
    raise Outside(f"the target {name}")


def tensor_of(record, axes, lets, units):
    base = record.get("base", 0)
    at = {}
    if isinstance(base, dict):
        at, base = {k: v for k, v in base.items() if k != "element"}, base.get("element", 0)
    if not isinstance(base, int) or set(record) - {"tier", "base", *PLACES}:
        raise Outside("a source or destination with more than mappings and a base")
    out = {place: mapping(str(record.get(place, "1")), axes, lets) for place in PLACES}
    return {**out, "tier": record.get("tier"), "base": base * units, "at": at}


def port_of(where, tensor, tier, engine, units):
    named = dict(engine or {})
    place, base = [], None
    if where is not None:
        if where[0] not in ("", tensor["tier"]):
            raise Refused(f"a sequencer of {where[0]} for a tensor of {tensor['tier']}")
        if where[1] is not None:
            *place, base = where[1]
    parts = tier.get("base_parts", [])
    named |= dict(zip(parts[len(parts) - len(place) :], place))
    if base is None:
        base = tensor["base"]
        named = named if engine is not None else dict(tensor["at"])
    for part, step in tier.get("part_strides", {}).items():
        base += named.get(part, 0) * step * units
    return {"base": base, **{p: named.get(p, 0) if p in parts else 0 for p in ("chip", "cluster")}}


def command_of(record, move, names, scale, units):
    if "sequencer" in record:
        (read, write), engine = unpaired(record["sequencer"])
        record = {"read": read, "write": write, "engine": engine if engine else record.get("engine")}
    texts = [sequencer(record[side], names, scale) for side in ("read", "write")]
    both, packets, media = zip(*texts)
    if packets[0] != packets[1]:
        raise Refused("the packets of both sides differ")
    if any(n < 1 for side in both for n, _ in side):
        raise Refused("a loop that does not run")
    loops = common(*both) or common(*map(merged, both))
    if loops is None:
        if any(prod(n for n, _ in side) != 1 for side in both):
            raise Refused("the two sequencers have no common loops")
        loops = []
    tensors = (move["source"], move["dest"])
    ports = [port_of(w, t, tier, record.get("engine"), units) for w, t, tier in zip(media, tensors, move["tiers"])]
    return {"loops": loops, "read": ports[0], "write": ports[1]}


def given(commands):
    """Commands as a certificate lists them."""
    out = []
    for one in commands:
        ports = [{"base": p[3], "chip": p[1], "cluster": p[2]} for p in (one["read"], one["write"])]
        out.append({"loops": [*map(tuple, one["loops"]), (one["burst"], 1, 1)], "read": ports[0], "write": ports[1]})
    return out


def read_move(plan, name, commands):
    record = plan.get("transfer", {}).get(name)
    if record is None:
        raise Outside("no transfer of this name: accesses, programs and kernels are not read")
    if set(record) - KEYS:
        raise Outside(f"the key {sorted(set(record) - KEYS)[0]}")
    axes = plan.get("axes", {})
    if not all(isinstance(size, int) for size in axes.values()):
        raise Outside("symbolic sizes")
    data = machine(record.get("target", plan.get("target")))
    bits = data["dtypes"]["bits"].get(record["dtype"])
    if bits is None:
        raise Outside(f"the type {record['dtype']}")
    units = 2 if bits == 4 else 1
    lets = plan.get("let", {})
    move = {side: tensor_of(record[side], axes, lets, units) for side in ("source", "dest")}
    for place in ("time", "packet"):  # that a stream gives the commands is not shown, only that it is one
        if isinstance(record.get("stream"), dict) and place in record["stream"]:
            mapping(str(record["stream"][place]), axes, lets)
    tiers = []
    for side in ("source", "dest"):
        tier = dict(data["tier"].get(move[side]["tier"]) or {})
        if not tier:
            raise Outside(f"the tier {move[side]['tier']}")
        tier["steps"] = {p: s * units for p, s in tier.get("strides", {}).items()}
        tiers.append(tier)
    move |= {"tiers": tiers, "axes": axes, "width": bits * units // 8}
    names = {key: part["value"] * units for key, part in data.get("constant", {}).items()}
    own = record.get("command") or ([record] if {"read", "write", "sequencer"} & set(record) else [])
    if any(one is not record and set(one) - COMMAND_KEYS for one in own):
        raise Outside("a command with more than an engine, a unit and its texts")
    scales, unit = {"bytes": units, "elements": move["width"]}, record.get("unit", "bytes")
    found = [command_of(one, move, names, scales[one.get("unit", unit)], units) for one in own]
    move["commands"] = found or given(commands or [])
    if not move["commands"]:
        raise Outside("a plan without printed commands: give those of the certificate")
    return move


def check_text(text, name, commands=None):
    """(answer, reason) for one transfer of a plan's text."""
    try:
        check_move(read_move(tomllib.loads(text), name, commands))
    except Refused as why:
        return "refuse", str(why)
    except Outside as why:
        return "outside", str(why)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        return "outside", f"a plan of another form ({type(error).__name__}: {error})"
    return "accept", ""


def main(arguments):
    text = Path(arguments[0]).read_text(encoding="utf-8")
    names = arguments[1:] or list(tomllib.loads(text).get("transfer", {}))
    answers = [check_text(text, name) for name in names]
    for name, (answer, why) in zip(names, answers):
        print(f"{answer:8} {name}{': ' + why if why else ''}")
    return 0 if answers and all(answer == "accept" for answer, _ in answers) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
