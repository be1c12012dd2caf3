#!/usr/bin/env python3
# ruff: noqa: B905
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
Sizes may be symbols: then constants and factors are polynomials over them, and a comparison is decided only where it
comes out alike for all admitted sizes. Sizes at the corners of their ranges are checked one by one as well.
What it does not judge: the machine's rules, what commands cost, whether a stream gives the commands, source cells that
nobody reads. An answer is `accept`, `refuse` or `outside`; only the first says that the move is right.
"""

import ast
import operator
import random
import re
import sys
import tomllib
from functools import cache, cmp_to_key
from itertools import product
from math import gcd, prod
from pathlib import Path

ENCODINGS = [Path(__file__).resolve().parent.parent / name for name in ("encodings", "_encodings")]
KEYS = {"dtype", "source", "dest", "stream", "unit", "read", "write", "engine", "limits", "expect", "command",
        "target", "sequencer"}  # fmt: skip
SAMPLES = 12  # sizes of a plan with symbols that are checked one by one
PARTS = 64  # parts of one nest, at most
PLACES = ("chip", "cluster", "slice", "element")
OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Pow: operator.pow,
             ast.Div: lambda a, b: whole(a, b), ast.FloorDiv: lambda a, b: quotient(a, b),
             ast.Mod: lambda a, b: a - b * quotient(a, b)}  # fmt: skip
PLAIN = (ast.Add, ast.Sub, ast.Mult, ast.Pow)
COMPARISONS = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt, "==": operator.eq}


class Refused(Exception):
    """The plan breaks its promise."""


class Outside(Exception):
    """Not a plan that this checker can judge."""


class Cut(Outside):
    """(counter, place): a sum is a quotient and a remainder on either side of this place of a loop, not across it."""


# ---------------------------------------------------------------- sizes that are symbols


class Poly:
    """A polynomial over sizes: {sizes, sorted: factor}. Equal are polynomials that are the same; `>=` and its like have
    an answer where it is one for all admitted sizes, and are Outside else.
    """

    def __init__(self, terms, facts):
        self.terms, self.facts = terms, facts

    def __add__(self, other):
        return made([*self.terms.items(), *items(other)], self.facts)

    def __mul__(self, other):
        parts = product(self.terms.items(), items(other))
        return made([(tuple(sorted(a + b)), k * n) for (a, k), (b, n) in parts], self.facts)

    def __pow__(self, power):
        return prod([self] * power)

    def __neg__(self):
        return self * -1

    def __sub__(self, other):
        return self + other * -1

    def __rsub__(self, other):
        return -self + other

    def __abs__(self):
        return self if self >= 0 else -self

    def __eq__(self, other):
        return isinstance(other, Poly) and self.terms == other.terms

    def __repr__(self):
        return " + ".join("*".join([str(k), *key]) for key, k in sorted(self.terms.items()))

    def __hash__(self):
        return hash(frozenset(self.terms.items()))

    def __ge__(self, other):
        if surely(self - other):
            return True
        if surely(other - self - 1):
            return False
        raise Outside("a comparison that depends on the sizes")

    def __gt__(self, other):
        return self - 1 >= other

    def __le__(self, other):
        return -self >= -other

    def __lt__(self, other):
        return -self - 1 >= -other

    __radd__, __rmul__ = __add__, __mul__


class Facts:
    """What is admitted: each size is `least` or more, at most `most` (None: any); `known` polynomials are 0 or more."""

    def __init__(self):
        self.least, self.most, self.known, self.sure = {}, {}, [], {}

    def size(self, name, least, most):
        self.least[name], self.most[name] = least, most
        return Poly({(name,): 1}, self)


def items(value):
    return list(value.terms.items()) if isinstance(value, Poly) else [((), value)]


def made(pairs, facts):
    terms = {}
    for key, k in pairs:
        terms[key] = terms.get(key, 0) + k
    terms = {key: k for key, k in terms.items() if k}
    return Poly(terms, facts) if any(terms) else terms.get((), 0)


def surely(value, depth=3):
    """Whether a number is 0 or more for all admitted sizes; False says nothing."""
    if not isinstance(value, Poly):
        return value >= 0
    facts, key = value.facts, (value, depth)
    if key not in facts.sure:
        facts.sure[key] = least(value) >= 0 or (depth > 0 and any(surely(v, depth - 1) for v in without(value)))
    return facts.sure[key]


def least(value):
    """A number that the polynomial is never below: each size from its least on, the rest of it from 0 on."""
    facts, total = value.facts, 0
    rests = {name: Poly({(name,): 1}, facts) for name in facts.least}
    moved = sum((prod((rests[n] + facts.least[n] for n in key), start=k) for key, k in value.terms.items()), start=0)
    for key, k in items(moved):
        most = [facts.most[n] and facts.most[n] - facts.least[n] for n in key]
        if k < 0 and None in most:
            return float("-inf")
        total += k * (prod(most) if k < 0 else 0 ** len(key))
    return total


def without(value):
    """The polynomial less a multiple of what is known to be 0 or more, so that a negative term is gone."""
    for key, k in value.terms.items():
        for known in value.facts.known if k < 0 else ():
            for own, n in known.terms.items():
                if n < 0 and all(own.count(name) <= key.count(name) for name in own):
                    rest = list(key)
                    for name in own:
                        rest.remove(name)
                    yield value * -n - known * Poly({tuple(rest): -k}, value.facts)


def exact(a, b):
    """a / b where that is a number or polynomial, else None."""
    if not isinstance(a, Poly) and not isinstance(b, Poly):
        return a // b if b and a % b == 0 else None
    if not items(b)[0][1]:
        return None
    out, rest, lead = 0, a, max(items(b), key=lambda term: (len(term[0]), term))
    for _ in range(16):
        if rest == 0:
            return out
        key, k = max(items(rest), key=lambda term: (len(term[0]), term))
        if k % lead[1] or any(lead[0].count(name) > key.count(name) for name in lead[0]):
            return None
        left = list(key)
        for name in lead[0]:
            left.remove(name)
        part = made([(tuple(left), k // lead[1])], (a if isinstance(a, Poly) else b).facts)
        out, rest = out + part, rest - b * part
    return None


def whole(a, b):
    found = exact(a, b) if surely(b - 1) else None
    if found is None:
        raise Outside("a quotient that leaves a rest")
    return found


def floor(a, b):
    if not isinstance(a, Poly) and not isinstance(b, Poly):
        return a // b
    facts = (a if isinstance(a, Poly) else b).facts
    high = sum((exact(made([term], facts), b) or 0 for term in items(a)), start=0)
    low = a - high * b
    if surely(low) and surely(b - 1 - low):
        return high
    if surely(-low - 1) and surely(b + low):
        return high - 1
    raise Outside("a quotient that depends on the sizes")


def quotient(a, b):
    """a // b; where that is no polynomial, a size of its own with what is known of it."""
    try:
        return floor(a, b)
    except Outside:
        if not surely(a) or not surely(b - 1):
            raise
    facts = (a if isinstance(a, Poly) else b).facts
    name = f"({a}) // ({b})"
    new, found = name not in facts.least, facts.size(name, 0, None)
    facts.known += [a - b * found, b * found + b - 1 - a] if new else []
    return found


def several(count):
    """Whether a loop may run more than once."""
    return isinstance(count, Poly) or count > 1


def ordered(pairs):
    """By the first of each, least first, where that is known."""
    return sorted(pairs, key=cmp_to_key(lambda a, b: -surely(b[0] - a[0]) + surely(a[0] - b[0])))


def sizes_of(plan):
    """Symbols of a plan as polynomials with what is known of them, and numbers for them that are admitted."""
    facts, sizes, spans, tests = Facts(), {}, {}, []
    for name, one in {**plan["axes"], **plan.get("free", {})}.items():
        if type(one) is int:
            sizes[name], spans[name] = one, [one]
            continue
        lowest = 1 if name in plan["axes"] else 0
        unit, start, end = one.get("multiple_of", 1), one.get("min", lowest), one.get("max")
        start, end = -(-start // unit), None if end is None else end // unit
        if start < lowest or (end is not None and end < start):
            raise Outside(f"the range of {name}")
        sizes[name] = facts.size(name, start, end) * unit
        most = start + 12 if end is None else end
        spans[name] = [n * unit for n in (start, *range(start, start + 7), (start + most) // 2, most) if n <= most]
    for text in sorted(plan.get("assume", []), key=lambda text: "|" not in text and "%" not in text):
        text = re.sub(r"^\s*(\w+)\s*%\s*(\w+)\s*==\s*0\s*$", r"\2 | \1", text)
        found = re.fullmatch(r"([^<>=|]+)(\||<=|>=|==|<|>)([^<>=|]+)", text)
        if found is None:
            raise Outside(f"`{text}`")
        tests.append(found.groups())
        try:
            known = divided(facts, sizes, found) if found.group(2) == "|" else compared(sizes, *found.groups())
            facts.known += [one for one in known if isinstance(one, Poly)]
        except Outside:
            continue  # what is shown without it is shown for more sizes
    if not facts.least:
        if not admitted(tests, sizes):
            raise Refused("what is assumed is not so")
        return sizes, []
    draw, found = random.Random(0), [{name: span[0] for name, span in spans.items()}]
    found += [{name: draw.choice(span) for name, span in spans.items()} for _ in range(400)]
    return sizes, [one for n, one in enumerate(found) if admitted(tests, one) and one not in found[:n]][:SAMPLES]


def compared(sizes, left, sign, right):
    """What is 0 or more where the left side is so to the right one."""
    gap = number(right, sizes) - number(left, sizes)
    if sign == "==":
        return [gap, -gap]
    return [(gap if sign[0] == "<" else -gap) - (len(sign) == 1)]


def divided(facts, sizes, found):
    """A size that another divides becomes so many times the other; what is known of it then."""
    part, name = found.group(1).strip(), found.group(3).strip()
    old, by = sizes.get(name), number(part, sizes)
    used = {one for size in (by, *sizes.values()) for key, _ in items(size) for one in key if size is not old}
    if not isinstance(old, Poly) or list(old.terms) != [(name,)] or name in used:
        return []
    times, unit = facts.size(f"{name}/{part}", min(1, facts.least[name]), None) * by, old.terms[(name,)]
    sizes[name] = times
    more = [] if facts.most[name] is None else [facts.most[name] * unit - times]
    return [times - facts.least[name] * unit, *more]


def admitted(tests, sizes):
    for left, sign, right in tests:
        a, b = number(left, sizes), number(right, sizes)
        if not (a and b % a == 0 if sign == "|" else COMPARISONS[sign](a, b)):
            return False
    return True


# ---------------------------------------------------------------- numbers, mappings, sequencers: text to values

PART = r"(?:\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)|\d[\d_]*|[A-Za-z_]\w*)"
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


def number(text, names, divides=True):
    """Sums, products and powers of integers and named constants; quotients in plans with symbols."""

    def value(node):
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return node.value
        if isinstance(node, ast.Name) and node.id in names:
            return names[node.id]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -value(node.operand)
        if isinstance(node, ast.BinOp) and type(node.op) in (OPERATORS if divides else PLAIN):
            left, right = value(node.left), value(node.right)
            if not isinstance(node.op, ast.Pow) or 0 <= right <= 64:
                return OPERATORS[type(node.op)](left, right)
        raise Outside(f"the number `{text}`")

    try:
        return value(ast.parse(text.strip().replace("^", "**"), mode="eval").body)
    except SyntaxError:
        raise Outside(f"the number `{text}`") from None


def mapping(text, axes, lets):
    """`axes` are sizes by name; of a plan with symbols those that numbers may name stand under None."""
    source = Text(text)
    found = pair(source, axes, lets)
    source.take("")
    return found


def pair(source, axes, lets):
    """Trees are tuples: what, size, then the parts."""
    parts = [term(source, axes, lets)]
    while source.peek() in (",", "*"):
        if source.take() == "," and source.peek() in ("", ")", "]", "}"):
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
        found = postfix(found, sign, written(source, axes), source)
    return found


def written(source, axes):
    """A size within a mapping: digits, one in braces, a name, or an expression in round brackets."""
    first = source.take()
    text = [first]
    while first in "({" and text.count("(") + text.count("{") > text.count(")") + text.count("}"):
        text.append(source.take())
    names = axes.get(None, {})
    if "" in text or not (first == "{" or (first == "(" and names) or first.isdigit() or first in names):
        raise Outside(f"`{first}` where a number of a mapping is read")
    return number("".join(text).strip("{}"), names, bool(names))


def postfix(inner, sign, number, source):
    size = inner[1]
    if sign == "+":
        sign, number = source.take(), size + number
    if sign in ("/", "%") and number >= 1 and exact(size, number) is not None:
        return ("div", exact(size, number), inner, number) if sign == "/" else ("mod", number, inner)
    if sign in ("=", "!") and number >= 1:
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
    if head.strip()[:1] != "[" or "]" in head:
        raise Outside(f"`{text}`, which begins with no entries")
    for entry in split(head.strip()[1:]):
        count, _, step = re.split(r"=|->", entry)[-1].partition(":")
        entries.append((value_of(count, names, None), value_of(step, names, scale)))
    found = re.fullmatch(rf"\s*:\s*({PART}(?:\s*[-+*/^]+\s*{PART})*)((?:\s+[A-Z].*|\s*@.*)?)", tail, re.DOTALL)
    if found is None:
        raise Outside(f"`{tail.strip()}` behind the entries")
    packet = value_of(found.group(1), names, None) * scale
    if not entries:
        entries.append((packet, 1))
    elif scale > 1 and entries[-1][1] == scale:
        entries[-1] = (entries[-1][0] * scale, 1)
    elif scale > 1:
        entries.append((scale, 1))
    return entries, packet, medium(found.group(2), names, scale) if found.group(2).strip() else None


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
    return sides, index and dict(zip(("chip", "cluster", "dmn"), [number(part, {}, False) for part in inside(index)]))


def inside(text):
    """Both, or all, of what stands in round brackets."""
    parts = split(text.strip()[1:-1])
    if text.strip()[:1] != "(" or text.strip()[-1:] != ")" or len(parts) < 2 or re.search(r",\s*\)", text):
        raise Outside(f"`{text}` where a pair in brackets is read")
    return parts


def medium(text, names, scale):
    tier, at, base = text.partition("@")
    tier, base = tier.strip().removesuffix("/D").lower(), re.sub(r",\s*\)", ",!)", base.strip() if at else "none")
    parts = split(base[1:-1]) if base.startswith("(") and base.endswith(")") and "," in base else [base]
    return tier, [value_of(p, names, None) for p in parts[:-1]] + [value_of(parts[-1], names, scale)]


def value_of(text, names, scale):
    """A number in units: what is written counts `scale` units, constants have their own. None: a count of something."""
    constants, sizes = names
    plain = number(text, {**(dict.fromkeys(constants, 0) if scale else {}), **sizes}, bool(sizes))
    return plain * scale + number(text, {**constants, **sizes}, bool(sizes)) - plain if scale else plain


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
    a, b, out = [list(e) for e in read if several(e[0])], [list(e) for e in write if several(e[0])], []
    while a and b:
        count = b[-1][0] if exact(a[-1][0], b[-1][0]) is not None else a[-1][0]
        if exact(b[-1][0], count) is None:
            return None
        out.append((count, a[-1][1], b[-1][1]))
        for side in (a, b):
            if side[-1][0] == count:
                side.pop()
            else:
                side[-1] = [exact(side[-1][0], count), side[-1][1] * count]
    return None if a or b else out[::-1]


def merged(entries):
    out = []
    for count, step in reversed([e for e in entries if several(e[0])]):
        if out and step == out[-1][0] * out[-1][1]:
            out[-1] = [count * out[-1][0], out[-1][1]]
        else:
            out.append([count, step])
    return out[::-1]


# ---------------------------------------------------------------- sums of counters


class Box:
    """Counters with their counts. A sum is (constant, {counter: factor})."""

    def __init__(self, counts):
        self.counts = {i: n for i, n in enumerate(counts) if several(n)}
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
        if not all(surely(r) or surely(-r) for r in reach):
            raise Outside("a step whose sign depends on the sizes")
        return sum((r for r in reach if not surely(r)), constant), sum((r for r in reach if surely(r)), constant)

    def divide(self, form, size):
        """Quotient and remainder as sums. Raises Outside where they are none."""
        for _ in range(64):
            constant, terms = self.full(form)
            start, quotients = floor(constant, size), {n: exact(k, size) for n, k in terms.items()}
            high = start, {n: q for n, q in quotients.items() if q is not None}
            low = constant - start * size, {n: k for n, k in terms.items() if quotients[n] is None}
            bottom, top = self.ends(low)
            if surely(bottom) and surely(size - 1 - top):
                return high, low
            for name, k in low[1].items():
                count, at = self.counts[name], exact(size, abs(k))
                if at is not None and several(at) and count != at and surely(count - at):
                    if exact(count, at) is None:
                        raise Cut(name, count - numbers(count, at)[0] % at)
                    self.cut(name, at)
                    break
            else:
                numbers(size, low[0], *low[1].values(), *(self.counts[name] for name in low[1]))
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
        self.counts |= {high: exact(count, at), low: at}


def numbers(*values):
    """The values, which are numbers whatever the sizes. Raises Outside."""
    if any(isinstance(value, Poly) for value in values):
        raise Outside("a loop that is parted at a place that depends on the sizes")
    return values


def nests(constants, loops, judge):
    """The sum of what `judge(box, sums)` counts in a nest of (count, step of each sum), or in its parts."""
    todo, total = [(constants, loops)], 0
    for _ in range(PARTS):
        constants, loops = todo.pop()
        box = Box([n for n, _ in loops])
        sums = [(c, {i: s[k] for i, (n, s) in enumerate(loops) if several(n)}) for k, c in enumerate(constants)]
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
        return [(constants, [*before, (exact(count, at), [s * at for s in steps]), (at, steps), *behind])]
    return [([c + start * s for c, s in zip(constants, steps)], [*before, (n, steps), *behind])
            for start, n in ((0, at), (at, count - at))]  # fmt: skip


def implies(box, one, other):
    """Whether `form < bound` gives the other `form < bound`, by what a multiple of the first leaves of the second."""
    (form, bound, _), (wanted, limit, _) = one, other
    (constant, terms), wide = box.full(form), box.full(wanted)[1]
    step = common_step(terms.values())
    most, unit = floor(bound - 1 - constant, step), (0, {n: exact(k, step) for n, k in terms.items()})
    scales = {exact(wide[n], k) for n, k in unit[1].items() if n in wide}
    left = ((s, box.ends(add(wanted, unit, -s))[1]) for s in scales if s is not None and surely(s - 1))
    return any(surely(limit - 1 - most * s - end) for s, end in left)


def common_step(steps):
    if not any(isinstance(step, Poly) for step in steps):
        return gcd(*steps) or 1
    return next((step for step in steps if all(exact(other, step) is not None for other in steps)), 1)


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
        shadowed = any(freeze(box, form) == freeze(box, f) and surely(bound - b) for f, b, _ in open_)
        if not surely(bound - 1 - most) and not shadowed:
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
    if any(surely(box.ends(form)[0] - bound) for form, bound, _ in tests):
        return 0
    total, used, kept = prod(box.counts.values()), set(), []
    for test in tests:
        if not any(implies(box, other, test) for other in kept):
            kept = [test, *(other for other in kept if not implies(box, test, other))]
    for form, bound, _ in kept:
        constant, terms = box.full(form)
        key, bound = list(terms.items()), bound - constant
        if not surely(bound):
            raise Outside("a condition that no cell meets at some sizes")
        key = ordered([(abs(k), k, name) for name, k in key])
        reach = unit = key[0][0]
        for _, k, name in key:
            if k != reach or name in used:
                raise Outside("a condition on counters that are no ladder")
            used.add(name)
            reach = k * box.counts[name]
        full, some = exact(reach, unit), -floor(-bound, unit)
        if not surely(some - full):
            total = whole(total, full) * (some if surely(full - some) else numbers(full, some)[1])
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
    for step, count in ordered([(abs(step), count) for count, _, step in command["loops"] if several(count)]):
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
        steps = {i: step for i, (count, _, step) in enumerate(command["loops"]) if several(count)}
        forms.append((command["write"]["base"] - (a["base"] if a["base"] <= b["base"] else b["base"]), steps))
    if never_meet(boxes, forms):
        return
    steps = {abs(step) for command in (one, two) for n, _, step in command["loops"] if step and several(n)}
    for size, _ in reversed(ordered([(step, 0) for step in steps])):
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
    return surely(c - 1 - b) or surely(a - 1 - d)


def regions_apart(move):
    source, dest = move["source"], move["dest"]
    if source["tier"] != dest["tier"]:
        return
    for place in move["tiers"][0]["places"]:
        a, b = source["at"].get(place, 0), dest["at"].get(place, 0)
        if surely(b - a - source[place][1]) or surely(a - b - dest[place][1]):
            return
    ends = [t["base"] + t["element"][1] * move["width"] for t in (source, dest)]
    if not (surely(dest["base"] - ends[0]) or surely(source["base"] - ends[1])):
        raise Outside("source and destination share bytes")


# ---------------------------------------------------------------- plans: the form, which keys with what in them


def natural(value, least=0, most=10**18):
    return type(value) is int and least <= value <= most


def positive(value):
    return natural(value, 1)


def address(value):
    return natural(value, 0, 2**64 - 1)


def any_table(value):
    return type(value) is dict


def named(pattern):
    return lambda value: type(value) is str and re.fullmatch(pattern, value) is not None


TEXT = named("(?s:.*)")
AXIS, ENTRY, SIZE_OF = named(r"[A-Z][A-Za-z0-9_']*"), named("[A-Za-z0-9_-]+"), (natural, TEXT)
RANGE = {"min": natural, "max": natural, "multiple_of": positive}
EXPECT = ("proved", [named("[a-z0-9-]+/[a-z0-9-]+")])
UNIT = ("bytes", "elements")
TEXTS = {"engine": dict.fromkeys(("chip", "cluster", "dmn"), natural), "unit": UNIT,
         **dict.fromkeys(("read", "write", "sequencer"), TEXT)}  # fmt: skip
TENSOR = {"tier!": TEXT, "base": (address, TEXT, dict.fromkeys(PLACES, SIZE_OF)), **dict.fromkeys(PLACES, TEXT),
          "view": (any_table, [any_table])}  # fmt: skip
STREAM = dict.fromkeys((*PLACES[:3], "time", "packet"), TEXT)
TRANSFER = {**TEXTS, "dtype!": TEXT, "source!": TENSOR, "dest!": TENSOR, "stream": (STREAM, [any_table]),
            "command": [TEXTS], "commands": TEXT, "limits": {TEXT: natural}, "options": any_table, "loop": any_table,
            "expect": EXPECT, "target": TEXT}  # fmt: skip
PLAN = {"schema!": (1,), "target": TEXT, "name": TEXT, "axes!": {AXIS: (natural, RANGE)}, "free": {AXIS: RANGE},
        "assume": [TEXT], "let": {AXIS: TEXT}, "transfer": {ENTRY: TRANSFER},
        **dict.fromkeys(("access", "region", "gather", "scatter", "program", "kernel"), any_table)}  # fmt: skip


def formed(value, form, where):
    """Raises Outside where a value is not of a form: a number or text itself, a predicate, a list of one form, a table
    of forms by key (`!`: it must be there; a predicate: of whatever key), or one of several.
    """
    if isinstance(form, tuple):
        for one in form[:-1]:
            try:
                formed(value, one, where)
            except Outside:
                continue
            return
        formed(value, form[-1], where)
    elif isinstance(form, list) and type(value) is list and (value or form != [TEXTS]):
        for one in value:
            formed(one, form[0], where)
    elif isinstance(form, dict) and type(value) is dict:
        if {key[:-1] for key in form if isinstance(key, str) and key[-1] == "!"} - set(value):
            raise Outside(f"{where} without all of its keys")
        of_key = next((key for key in form if callable(key)), None)
        for key, one in value.items():
            inner = form[of_key] if of_key and of_key(key) else form.get(key, form.get(f"{key}!"))
            if inner is None:
                raise Outside(f"{where} with a key `{key}`")
            formed(one, inner, f"`{key}`")
    elif not (form(value) if callable(form) else type(value) is type(form) and value == form):
        raise Outside(f"{where} that is of another form")


# ---------------------------------------------------------------- plans: what they say


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
    if isinstance(base, str):
        base = number(base, axes[None])
    if type(base) not in (int, Poly) or not surely(base) or "view" in record:
        raise Outside("a view, or a base that is no address")
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
    if packets[0] < 1 or any(n < 1 for side in both for n, _ in side):
        raise Refused("a packet of nothing, or a loop that does not run")
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


def read_move(plan, name, commands, sizes):
    """A transfer of a plan with symbols at these sizes, numbers or polynomials; nothing for a plan without symbols."""
    record = plan.get("transfer", {}).get(name)
    if record is None:
        raise Outside("no transfer of this name: accesses, programs and kernels are not read")
    if set(record) - KEYS:
        raise Outside(f"the key {sorted(set(record) - KEYS)[0]}")
    axes = {name: sizes.get(name, size) for name, size in plan["axes"].items()} | ({None: sizes} if sizes else {})
    data = machine(record.get("target", plan.get("target")))
    if any(n < 1 or not {one, f"{one}_max"} & set(data["limit"]) for one, n in record.get("limits", {}).items()):
        raise Outside("a limit that the target does not have")
    bits = data["dtypes"]["bits"].get(record["dtype"])
    if bits is None:
        raise Outside(f"the type {record['dtype']}")
    units = 2 if bits == 4 else 1
    lets = plan.get("let", {})
    move = {side: tensor_of(record[side], axes, lets, units) for side in ("source", "dest")}
    stream = record.get("stream", {})  # that it gives the commands is not shown
    texts = [one for part in (stream if isinstance(stream, list) else [stream]) for one in part.values()]
    for text in [*(re.sub(r"@\s*[a-z]\w*", "@ 0", one) for one in texts if isinstance(one, str)), *lets]:
        mapping(text, axes, lets)
    tiers = []
    for side in ("source", "dest"):
        tier = dict(data["tier"].get(move[side]["tier"]) or {})
        if not tier or {*record[side], *move[side]["at"]} & set(PLACES[:3]) - set(tier.get("places", [])):
            raise Outside(f"the tier {move[side]['tier']} and its places")
        tier["steps"] = {p: s * units for p, s in tier.get("strides", {}).items()}
        tiers.append(tier)
    move |= {"tiers": tiers, "axes": axes, "width": bits * units // 8}
    names = {key: part["value"] * units for key, part in data.get("constant", {}).items()}, sizes
    own = record.get("command") or ([record] if {"read", "write", "sequencer"} & set(record) else [])
    scales, unit = {"bytes": units, "elements": move["width"]}, record.get("unit", "bytes")
    found = [command_of(one, move, names, scales[one.get("unit", unit)], units) for one in own]
    move["commands"] = found or given(commands or [])
    if not move["commands"]:
        raise Outside("a plan without printed commands: give those of the certificate")
    return move


def check_text(text, name, commands=None):
    """(answer, reason) for one transfer of a plan's text."""
    try:
        plan = tomllib.loads(text)
        formed(plan, PLAN, "the plan")
        sizes, samples = sizes_of(plan)
        if not any(isinstance(size, Poly) for size in sizes.values()):
            check_move(read_move(plan, name, commands, {}))
            return "accept", ""
        if not samples:
            raise Outside("no sizes were found that are admitted")
        for one in samples:
            try:
                check_move(read_move(plan, name, None, one))
            except Refused as why:
                return "refuse", f"{', '.join(f'{size} = {n}' for size, n in one.items())}: {why}"
            except (Outside, ArithmeticError):
                continue
        try:
            check_move(read_move(plan, name, None, sizes))
        except Refused as why:
            raise Outside(f"not shown for all sizes: {why}") from None
    except Refused as why:
        return "refuse", str(why)
    except Outside as why:
        return "outside", str(why)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        return "outside", f"a plan of another form ({type(error).__name__}: {error})"
    return "accept", ""


def main(arguments):
    try:
        text = Path(arguments[0]).read_text(encoding="utf-8")
        names = arguments[1:] or list(tomllib.loads(text).get("transfer", {}))
    except (AttributeError, IndexError, OSError, ValueError) as error:
        print(f"python checker.py PLAN.toml [NAME ...]: {error}")
        return 2
    answers = [check_text(text, name) for name in names]
    for name, (answer, why) in zip(names, answers):
        print(f"{answer:8} {name}{': ' + why if why else ''}")
    return 0 if answers and all(answer == "accept" for answer, _ in answers) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
