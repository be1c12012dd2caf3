"""The architecture as tests: who may import whom, the single doors, the habits of the house.

Each rule is a function from text to complaints, and is shown planted offences too, so that none of them passes blindly.
"""

import ast
import functools
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.xdist_group("architecture")  # every module is parsed once

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "dmaverify"

# A room imports from itself and from rooms above it. This list is the architecture. A room inside `prove` stands where
# the list has it, those of its analyses too; the rest of `prove` (the solver's door, options) is the room `prove`. The
# executor stands above the prover, which asks it for a second opinion and is not known to it.
ROOMS = (
    "values",
    "errors",
    "verdict",
    "language",
    "layout",
    "program",
    "targets",
    "lower",
    "execute",
    "prove",
    "prove/move",
    "prove/flow/accesses",
    "prove/flow/order",
    "prove/flow/starvation",
    "prove/flow/initialization",
    "prove/flow/coverage",
    "prove/flow/equality",
    "prove/flow",
    "prove/certify",
    "prove/sizes",
    "cost",
    "synth",
    "plan",
    "machines",
    "report",
    "jobs",
    "testing",
    "api",
    "cli",
)
ROOT_FILES = {"__init__", "__main__", "api", "errors", "values", "verdict"}
DOOR_TO_Z3 = "prove/smt.py"
PRINTS = ("cli/app.py", "cli/screen.py", "cli/__init__.py")  # the last: the version, told before all else is loaded
WRITERS = {"stdout": "sys.stdout", "stderr": "sys.stderr", "echo": "click.echo"}
CORE = (
    "language",
    "layout",
    "program",
    "lower",
    "execute",
    *(room for room in ROOMS if room.split("/")[0] == "prove"),
)
MACHINES = {"rngd", "pto", "idma"}
HEAVY = {"cvc5", "islpy", "matplotlib", "numba", "sympy", "z3"}  # imported where they are used: starting is quick
LONG, TOO_LONG = 400, 600
MODULES = sorted(PACKAGE.rglob("*.py"))
TEXTS = {".py", ".toml", ".md", ".smt2", ".json", ".jsonl", ".csv", ".yml", ".yaml", ".txt", ".rs", ".cfg", ""} | {
    ".css",
    ".js",
}
BUILT = {".git", ".venv", "__pycache__", "dist", "build", ".hypothesis", ".pytest_cache", ".mypy_cache", ".ruff_cache"}


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


@functools.cache
def sources() -> dict[str, str]:
    return {name_of(path): path.read_text(encoding="utf-8") for path in MODULES}


@functools.cache
def trees() -> tuple[tuple[str, ast.Module], ...]:
    return tuple((name, ast.parse(text)) for name, text in sources().items())


def complaints(check: Callable[[str, ast.Module], Iterator[str]]) -> list[str]:
    may = re.compile(NEEDS.get(check, ""))
    return [f"{name}: {said}" for name, tree in trees() if may.search(sources()[name]) for said in check(name, tree)]


# ---------------------------------------------------------------- what modules import


def room_of(name: str) -> str:
    """The room of a path or dotted name below the package: the longest entry of ROOMS that it begins with."""
    parts = re.split(r"[/.]", name)
    heads = ("/".join(parts[:n]) for n in range(len(parts), 0, -1))
    return next((head for head in heads if head in ROOMS), parts[0])


@functools.cache
def nodes_of(tree: ast.AST) -> tuple[ast.AST, ...]:
    """Every node but operators and contexts, which stand in a field of theirs; walked once for all rules."""
    out = [tree]
    for node in out:
        for value in vars(node).values():
            if isinstance(value, list):
                out += (one for one in value if isinstance(one, ast.AST))
            elif isinstance(value, ast.AST) and value._fields:
                out.append(value)
    return tuple(out)


@functools.cache
def statements_of(tree: ast.AST) -> tuple[ast.AST, ...]:
    """Every statement, wherever it stands; expressions are not walked."""
    out = [tree]
    for node in out:
        for field in ("body", "handlers", "orelse", "finalbody", "cases"):
            out += getattr(node, field, ())
    return tuple(out)


@functools.cache
def imports_of(tree: ast.Module) -> tuple[ast.AST, ...]:
    return tuple(node for node in statements_of(tree) if isinstance(node, (ast.Import, ast.ImportFrom)))


def imported(name: str, tree: ast.Module) -> Iterator[tuple[int, str]]:
    """(line, dotted name) of every import in the file `name` of the package, wherever it stands."""
    package = ["dmaverify", *name.split("/")[:-1]]
    for node in imports_of(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            stem = ".".join([*base, *([node.module] if node.module else [])])
            yield from ((node.lineno, f"{stem}.{alias.name}") for alias in node.names)


def upward_imports(name: str, tree: ast.Module) -> Iterator[str]:
    """Imports from a room below, or of something that is no room. The package's own face may import everything."""
    if name in ("__init__.py", "__main__.py"):
        return
    if "/" not in name and name.removesuffix(".py") not in ROOT_FILES:
        yield "a file at the root belongs into a room"
    if room_of(name) not in ROOMS:
        yield f"`{room_of(name)}` is not in the list of rooms"
        return
    for line, dotted in imported(name, tree):
        top, *rest = dotted.split(".")
        if top != "dmaverify":
            continue
        if rest == ["__version__"]:
            continue
        room = room_of(".".join(rest))
        if not rest or room not in ROOMS:
            yield f"line {line} imports {dotted}, which is no room"
        elif ROOMS.index(room) > ROOMS.index(room_of(name)):
            yield f"line {line} imports {dotted} from below"


RUNS_KERNELS = re.compile(r"machines/pto/(execute\w*|running)\.py")
STATEMENTS = re.compile(r"dmaverify\.machines\.pto\.(execute\w*|running|ops|tiles|jumps|limits|scopes|ranks)\b")
"""What runs kernels of a machine, and all that it may share of the machine with the proof: statements and numbers."""


def dependent_opinions(name: str, tree: ast.Module) -> Iterator[str]:
    """The literal meaning and what executes exist to contradict digits and solver: they may not use either."""
    kernels = RUNS_KERNELS.fullmatch(name)
    if name == "language/meaning.py" or room_of(name) == "execute" or kernels:
        for line, dotted in imported(name, tree):
            machine = dotted.startswith("dmaverify.machines.") and not STATEMENTS.match(dotted)
            if re.match(r"dmaverify\.(layout|lower|prove|synth|cost)\b", dotted) or machine:
                yield f"line {line} imports {dotted}"


SIMULATOR = {"cost/simulate.py", "cost/requests.py", "cost/kernel.py", "cost/clockwork.py", "cost/compiled.py"}
SHARED_BY_PRICES = ("dmaverify.cost.constants",)
"""The simulator; what it may share with the closed form inside of `cost`."""


def simulator_and_formula(name: str, tree: ast.Module) -> Iterator[str]:
    """The simulator exists to contradict the closed form: neither calls the other, nor a function that both have, the
    address maps and the constants aside. It reads a command's loops as written, so it asks for no normal form of them.
    """
    inside = {f"dmaverify.{module.removesuffix('.py').replace('/', '.')}" for module in SIMULATOR}
    for line, dotted in imported(name, tree):
        own = any(dotted == module or dotted.startswith(f"{module}.") for module in inside)
        plain = dotted.startswith(SHARED_BY_PRICES)
        foreign = re.match(r"dmaverify\.(cost|synth|prove|layout|lower)\b", dotted) and not own and not plain
        if name in SIMULATOR and foreign:
            yield f"line {line} imports {dotted}"
        if name.startswith("cost/") and name not in SIMULATOR and own:
            yield f"line {line} imports {dotted}"
    if name in SIMULATOR:
        nodes = (node for node in nodes_of(tree) if isinstance(node, ast.Attribute) and node.attr == "normal")
        yield from (f"line {node.lineno} asks for a normal form" for node in nodes)


def z3_elsewhere(name: str, tree: ast.Module) -> Iterator[str]:
    if name != DOOR_TO_Z3:
        yield from (f"line {line} imports z3" for line, dotted in imported(name, tree) if dotted.split(".")[0] == "z3")


def heavy_at_start(name: str, tree: ast.Module) -> Iterator[str]:
    """Heavy libraries imported by the mere import of a module; in functions and under TYPE_CHECKING they are fine."""
    for node in tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            own = ast.Module([node], [])
            found = {dotted.split(".")[0] for _, dotted in imported(name, own)} & HEAVY
            yield from (f"line {node.lineno} imports {library} at the start" for library in sorted(found))


def printing(name: str, tree: ast.Module) -> Iterator[str]:
    if name in PRINTS:
        return
    for node in nodes_of(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
            yield f"line {node.lineno} prints"
        elif isinstance(node, ast.Attribute) and node.attr in WRITERS and ast.unparse(node) in WRITERS.values():
            yield f"line {node.lineno} writes to {ast.unparse(node)}"


# ---------------------------------------------------------------- what modules name


def without_docstrings(tree: ast.Module) -> Iterator[ast.AST]:
    """Every node but texts that stand alone, which are documentation."""
    alone = {id(node.value) for node in nodes_of(tree) if isinstance(node, ast.Expr)}
    yield from (node for node in nodes_of(tree) if not (isinstance(node, ast.Constant) and id(node) in alone))


def words_of(node: ast.AST) -> Iterator[str]:
    """Identifiers and texts of one node."""
    for field in ("id", "attr", "arg", "name", "asname", "module", "value"):
        value = getattr(node, field, None)
        if isinstance(value, str):
            yield value


def parts(word: str) -> set[str]:
    """`RngdMap` -> {rngd, map}; `rngd/packet-max` -> {rngd, packet, max}."""
    return {part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", word)}


def machine_names(name: str, tree: ast.Module) -> Iterator[str]:
    if room_of(name) in CORE:
        for node in without_docstrings(tree):
            for word in words_of(node):
                for machine in sorted(parts(word) & MACHINES):
                    yield f"line {getattr(node, 'lineno', 0)} names the machine {machine}"


def docstring_parts(name: str, tree: ast.Module) -> Iterator[str]:
    """A module with anything in it begins with what it knows, what it does not know, and its law."""
    text = ast.get_docstring(tree) or ""
    for part in (r"^Knows\b", r"\bDoes not know\b", r"^Law\b") if tree.body else ():
        if not re.search(part, text, re.MULTILINE):
            yield f"the docstring lacks `{part.strip('^').replace(chr(92) + 'b', '')}`"


SAYS_PROVED = {"verdict.py", "jobs/scope.py"}
"""Who settles a status: for a whole verdict, and for the part of one that `--select` or `--ignore` leaves."""


def is_status(node: ast.expr) -> bool:
    return ast.unparse(node).endswith("Status")


def proved_elsewhere(name: str, tree: ast.Module) -> Iterator[str]:
    """`Status.PROVED` as a value: returned, assigned, chosen or given; comparing with it is free."""
    if name in SAYS_PROVED or room_of(name) == "testing":
        return
    for node in nodes_of(tree):
        if isinstance(node, (ast.IfExp, ast.Return, ast.Assign, ast.AnnAssign, ast.Call, ast.keyword)):
            for part in ast.iter_child_nodes(node):
                if isinstance(part, ast.Attribute) and part.attr == "PROVED" and is_status(part.value):
                    yield f"line {part.lineno} says proved"


def unfinished(name: str, tree: ast.Module) -> Iterator[str]:
    """Functions that only raise NotImplementedError or do nothing outside of a protocol."""
    for node in nodes_of(tree):
        if isinstance(node, ast.Name) and node.id == "NotImplementedError":
            yield f"line {node.lineno} is not implemented"


NEEDS = {
    printing: r"print|stdout|stderr|echo", machine_names: f"(?i){'|'.join(MACHINES)}", proved_elsewhere: "PROVED",
    unfinished: "NotImplementedError",
}  # fmt: skip
"""What stands in every text that a rule complains of: no other module is walked for it."""

CHECKS: dict[str, tuple[Callable[[str, ast.Module], Iterator[str]], list[tuple[str, str]], list[tuple[str, str]]]] = {
    # check: (function, offences, innocent neighbours), each as (file, text)
    "imports go one way": (
        upward_imports,
        [
            ("language/expr.py", "from dmaverify.layout.digits import Digit"),
            ("layout/digits.py", "def f():\n    import dmaverify.prove.smt"),
            ("layout/digits.py", "from ..prove import smt"),
            ("layout/digits.py", "from .. import cli"),
            ("errors.py", "from dmaverify import verdict"),
            ("errors.py", "import dmaverify"),
            ("report/text.py", "if TYPE_CHECKING:\n    from dmaverify.cli.app import main"),
            ("helpers.py", ""),
            ("execute/interpret.py", "from dmaverify.prove import smt"),
            ("prove/move/core.py", "from dmaverify.prove.flow.order import hazards"),
            ("prove/flow/order/pipes.py", "from dmaverify.prove.flow.initialization import definite"),
            ("prove/flow/equality/same.py", "from dmaverify.prove.flow import kernel"),
            ("program/move.py", "from dmaverify.execute.address import Region"),
            ("cli_extra.py", ""),
            ("jobs.py", ""),
            ("cli/app.py", "from dmaverify.utils import x"),
        ],
        [
            ("execute/interpret.py", "from dmaverify.execute.address import Region"),
            ("prove/flow/order/pipes.py", "from dmaverify.prove.move import core"),
            ("prove/flow/coverage/tiles.py", "from dmaverify.prove.flow.initialization import unwritten"),
            ("layout/digits.py", "from dmaverify.language.expr import Node\nfrom dmaverify.layout import refine"),
            ("layout/digits.py", "from . import refine\nfrom ..language import expr\nfrom ..errors import Span"),
            ("cli/app.py", "from dmaverify.prove import check\nimport dmaverify_other"),
            ("__init__.py", "from dmaverify.cli.app import main"),
        ],
    ),
    "meaning and executor share no code with digits and solver": (
        dependent_opinions,
        [
            ("execute/interpret.py", "from dmaverify.layout.digits import Digit"),
            ("execute/address.py", "import dmaverify.prove.smt"),
            ("language/meaning.py", "def f():\n    from dmaverify.lower import derive"),
            ("machines/pto/running.py", "from dmaverify.layout.digits import Digit"),
            ("machines/pto/execute_order.py", "def f():\n    from dmaverify.prove.flow import pipes"),
            ("machines/pto/execute.py", "from dmaverify.machines.pto.meaning import meaning_of"),
        ],
        [
            ("execute/interpret.py", "from dmaverify.language import meaning"),
            (
                "machines/pto/execute.py",
                "import dmaverify.execute.order\nfrom dmaverify.machines.pto import ops",
            ),
            ("machines/pto/meaning.py", "from dmaverify.prove.flow import pipes"),
            ("prove/x.py", "import dmaverify.layout.digits"),
        ],
    ),
    "the simulator and the closed form share no function": (
        simulator_and_formula,
        [
            ("cost/simulate.py", "from dmaverify.cost.sides import pairs_of"),
            ("cost/kernel.py", "def f():\n    from dmaverify.cost import nest"),
            ("cost/requests.py", "def f(command):\n    return command.normal"),
            ("cost/bounds.py", "from dmaverify.cost.requests import readings_of"),
        ],
        [
            ("cost/simulate.py", "from dmaverify.cost.constants import TICKS\nfrom dmaverify.cost import kernel"),
            ("cost/model.py", "from dmaverify.cost.sides import pairs_of"),
        ],
    ),
    "z3 has one door": (
        z3_elsewhere,
        [("prove/move/check.py", "def f():\n    import z3"), ("cli/app.py", "from z3.z3util import get_vars")],
        [("prove/smt.py", "import z3"), ("prove/move/check.py", "import z3wrap\nfrom dmaverify.prove import smt")],
    ),
    "heavy libraries are imported where they are used": (
        heavy_at_start,
        [("prove/smt.py", "import z3"), ("cost/model.py", "from sympy.core import Symbol")],
        [("prove/smt.py", "def f():\n    import z3"), ("x.py", "if TYPE_CHECKING:\n    import sympy\nimport json")],
    ),
    "one module prints": (
        printing,
        [
            ("report/text.py", "print('x')"),
            ("prove/smt.py", "sys.stderr.write('x')"),
            ("plan/read.py", "click.echo('x')"),
        ],
        [("cli/app.py", "print('x')\nclick.echo('x')"), ("report/text.py", "pprint('x')\n'print(x)'")],
    ),
    "the core names no machine": (
        machine_names,
        [
            ("prove/move/check.py", "rule = 'rngd/packet-max'"),
            ("layout/x.py", "def rngd_digits(): ..."),
            ("program/x.py", "x = RngdMap"),
            ("language/x.py", "f(pto=1)"),
            ("lower/x.py", "x = f'{y}-iDMA idma'"),
            ("prove/x.py", "import machines.idma as m"),
        ],
        [
            ("prove/move/check.py", '"""As on rngd."""\nx = 1  # rngd\ncrypto = "optout"'),
            ("machines/x.py", "x = 'rngd'"),
        ],
    ),
    "a module says what it knows, what it does not know, and its law": (
        docstring_parts,
        [("x.py", "x = 1"), ("x.py", '"""X.\n\nKnows: a.\nLaw: b.\n"""'), ("x.py", '"""Knows: a. Law: b."""')],
        [("x.py", '"""X.\n\nKnows: a. Does not know: b.\nLaw: c.\n"""\nx = 1'), ("__init__.py", "")],
    ),
    "one place says PROVED": (
        proved_elsewhere,
        [
            ("prove/x.py", "def f():\n    return Status.PROVED"),
            ("cli/x.py", "status = Status.REFUTED if errors else verdict.Status.PROVED"),
            ("report/x.py", "Verdict('a', 'b', Status.PROVED)"),
            ("jobs/x.py", "replace(verdict, status=Status.PROVED)"),
        ],
        [
            ("verdict.py", "def f():\n    return Status.PROVED"),
            ("cli/x.py", "x = verdict.status is Status.PROVED\nranks = (Status.PROVED, Status.ERROR)"),
            ("report/x.py", "f(one.status in (Status.PROVED, Status.UNKNOWN))"),
        ],
    ),
    "nothing is left unimplemented": (
        unfinished,
        [("x.py", "def f():\n    raise NotImplementedError")],
        [("x.py", "def f():\n    raise ValueError('NotImplementedError')")],
    ),
}


@pytest.mark.parametrize("rule", CHECKS)
def test_the_house_keeps_the_rule(rule: str) -> None:
    assert complaints(CHECKS[rule][0]) == []


@pytest.mark.parametrize(("rule", "number"), [(rule, n) for rule in CHECKS for n in range(len(CHECKS[rule][1]))])
def test_a_planted_offence_is_caught(rule: str, number: int, tmp_path: Path) -> None:
    check, offences, _ = CHECKS[rule]
    name, text = offences[number]
    assert re.search(NEEDS.get(check, ""), text)
    planted = tmp_path / Path(name).name
    planted.write_text(text, encoding="utf-8")
    assert list(check(name, ast.parse(planted.read_text(encoding="utf-8")))) != []


@pytest.mark.parametrize("rule", CHECKS)
def test_an_innocent_neighbour_is_left_alone(rule: str) -> None:
    check, _, innocent = CHECKS[rule]
    assert innocent
    assert [list(check(name, ast.parse(text))) for name, text in innocent] == [[]] * len(innocent)


def test_every_room_of_the_list_is_looked_at() -> None:
    seen = {room_of(name_of(path)) for path in MODULES}
    assert {"errors", "verdict", "language", "layout", "program", "machines", "prove", "report"} <= seen
    assert PACKAGE / DOOR_TO_Z3 in MODULES


def test_modules_stay_short_enough_to_be_read_at_once() -> None:
    lengths = {name_of(path): len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    long = [f"{name} {length}" for name, length in lengths.items() if length > LONG]
    if long:
        warnings.warn(f"more than {LONG} lines, time to split: {', '.join(long)}", stacklevel=1)
    assert {name: length for name, length in lengths.items() if length > TOO_LONG} == {}


# ---------------------------------------------------------------- circles


def graph_of(files: Iterable[tuple[str, ast.Module]]) -> dict[str, set[str]]:
    """File -> files of the package that it imports, wherever: in functions and for types alone too."""
    files = list(files)
    names = {name for name, _ in files}

    def file_of(dotted: str) -> str | None:
        parts = dotted.split(".")[1:]
        tries = [f"{'/'.join(parts[:n])}{end}" for n in range(len(parts), 0, -1) for end in (".py", "/__init__.py")]
        return next((one for one in tries if one in names), None)

    return {
        name: {found for _, dotted in imported(name, tree) if (found := file_of(dotted)) is not None} - {name}
        for name, tree in files
    }


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Files that import each other, directly or through others: what is left when files that import nothing that is
    left, and files that nothing left imports, are taken away.
    """
    left = {name: set(found) for name, found in graph.items()}
    while True:
        used = set().union(*left.values()) if left else set()
        ends = {name for name, found in left.items() if not found & left.keys() or name not in used}
        if not ends:
            return [sorted(left)] if left else []
        left = {name: found - ends for name, found in left.items() if name not in ends}


def test_no_files_import_each_other() -> None:
    assert circles(graph_of(trees())) == []


@pytest.mark.parametrize(
    "files",
    [
        {"a.py": "from dmaverify.b import x", "b.py": "from dmaverify.a import y"},
        {"a.py": "def f():\n    from dmaverify.b import x", "b.py": "import dmaverify.a"},
        {"a.py": "if TYPE_CHECKING:\n    from dmaverify.b import x", "b.py": "from dmaverify import a"},
        {"r/a.py": "from . import b", "r/b.py": "from .c import z", "r/c.py": "from dmaverify.r.a import y"},
        {"r/__init__.py": "from dmaverify.r.a import x", "r/a.py": "from dmaverify.r import y"},
    ],
)
def test_a_planted_circle_is_found(files: dict[str, str]) -> None:
    apart = {"lone.py": "import json", "below.py": "from dmaverify.a import x"}
    assert len(circles(graph_of((n, ast.parse(t)) for n, t in (files | apart).items()))) == 1


def test_files_in_a_line_are_no_circle() -> None:
    files = {"a.py": "from dmaverify.b import x\nfrom dmaverify.c import y", "b.py": "import dmaverify.c", "c.py": ""}
    assert circles(graph_of((name, ast.parse(text)) for name, text in files.items())) == []


def test_the_root_holds_a_handful_of_files() -> None:
    assert {path.stem for path in PACKAGE.glob("*.py")} == ROOT_FILES
    assert len(ROOT_FILES) <= 6


# ---------------------------------------------------------------- classes


def named_twice(files: Iterable[tuple[str, ast.Module]]) -> dict[str, list[str]]:
    """Classes of one name in several places, with the files that they stand in."""
    places: dict[str, list[str]] = {}
    for name, tree in files:
        for node in statements_of(tree):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(name)
    return {name: found for name, found in places.items() if len(found) > 1}


def test_a_class_name_stands_once_in_the_package() -> None:
    assert named_twice(trees()) == {}


def test_a_planted_second_class_of_a_name_is_found() -> None:
    tile, planted = "class Tile: ...", "def f():\n    class Tile: ..."
    assert named_twice([("a.py", ast.parse(tile)), ("b.py", ast.parse(planted))]) == {"Tile": ["a.py", "b.py"]}
    assert named_twice([("a.py", ast.parse(tile)), ("b.py", ast.parse("class Tiles: ...\nTile = 1"))]) == {}


# ---------------------------------------------------------------- the whole repository


@functools.cache
def texts() -> dict[Path, str]:
    """What every file says, by its place in the repository."""
    found = {}
    for path in sorted(ROOT.rglob("*")):
        inside = path.relative_to(ROOT)
        if path.suffix in TEXTS and not BUILT & set(inside.parts) and path.is_file() and path.stat().st_size < 2**20:
            found[inside] = path.read_text(encoding="utf-8", errors="replace")
    return found


def foreign_paths(text: str) -> list[str]:
    """Places that exist on one machine only. Written in pieces here, because this file is read too."""
    roots = "|".join(["work", "root", "home", "Users", "private"])
    return re.findall(rf"\.\./shared|(?<![\w.*~-])/(?:{roots})/[\w.]", text)


def test_nothing_names_a_path_of_one_machine() -> None:
    planted = ["open('.." + "/shared/x')", "see /" + "work/main", "path = '/" + "home/me/x'", "(/" + "root/.venv)"]
    assert all(foreign_paths(text) for text in planted)
    assert foreign_paths("encodings/work/x https://x.org/home/y ./root/x") == []
    named = {path.as_posix(): foreign_paths(text) for path, text in texts().items()}
    assert {path: found for path, found in named.items() if found} == {}


def test_the_encodings_hold_no_python() -> None:
    """With a package of that name on the path, Python itself does not start: its standard library has one."""
    assert (ROOT / "encodings" / "core").is_dir()
    assert list((ROOT / "encodings").rglob("*.py")) == []


def evasions(tree: ast.AST) -> list[str]:
    """Tests that do not run or may fail unseen: `pytest.skip`, `importorskip`, `mark.skip`, `skipif`, `xfail`."""
    words = {"skip", "skipif", "importorskip", "xfail"}
    return [node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr in words]


def test_no_test_is_skipped() -> None:
    planted = ast.parse("@pytest.mark.xfail\ndef f():\n    pytest.importorskip('cvc5')")
    assert evasions(planted) == ["xfail", "importorskip"]
    tests = [(path, path.read_text(encoding="utf-8")) for path in sorted((ROOT / "tests").rglob("*.py"))]
    may = [(path, text) for path, text in tests if re.search(r"\.\s*(?:skip|importorskip|xfail)", text)]
    assert [path.name for path, text in may if evasions(ast.parse(text))] == []


def test_no_note_to_self_is_left_in_the_package() -> None:
    note = re.compile(r"\b(?:TODO|FIXME|XXX|HACK)\b")
    assert note.search("x = 1  # TODO later")
    assert [name_of(path) for path in MODULES if note.search(path.read_text(encoding="utf-8"))] == []


def cited(text: str) -> list[str]:
    """Documents of this repository that a text cites, and names of documents that no reader can open."""
    closed = re.findall(r"\b(?:" + "DES" + r"IGN|PLAN" + r"FILE)\b|\bfac" + r"ts/[a-z]+", text)
    return closed + [path for path in re.findall(r"\bdocs/[\w/-]+\.md", text) if not (ROOT / path).is_file()]


def test_every_document_that_is_cited_can_be_opened() -> None:
    nowhere = "docs/" + "nowhere.md"
    assert cited(f"see {nowhere} and " + "DES" + "IGN section 4") == ["DES" + "IGN", nowhere]
    assert cited("docs/design.md, docs/machines/rngd.md 8.1") == []
    named = {str(path): cited(text) for path, text in texts().items() if path.suffix}
    assert {path: found for path, found in named.items() if found} == {}
