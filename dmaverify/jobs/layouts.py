"""Layouts for the tensors of a plan or kernel: searched, written into its text, read again and judged as a whole.

Knows: which tensors a plan has, which of them others touch, how a text is changed and judged.
Does not know: which layouts there are and which are cheapest (`synth.layouts`, `synth.kernel`), the terminal.
Law: a proposal is shown only after the changed text was read and judged: the moves that it changes are the ones that
were priced and are proved, and no other verdict of the file is worse. What it leaves to others (who fills an input,
who reads an output, moves that were not priced) is said with it. A tensor that something else touches is not changed,
and the answer names it with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dmaverify.errors import InputError
from dmaverify.jobs.fix_kernels import mappings_of, worse
from dmaverify.jobs.layout_kernels import KernelGround
from dmaverify.jobs.layout_plans import Ground, PlanGround
from dmaverify.jobs.load import load
from dmaverify.jobs.synthesis import FIXED, SynthSettings, refuse_settings, synthesize_move
from dmaverify.program.tensor import Tensor
from dmaverify.report.synth import tensor_text
from dmaverify.synth.kernel import MOST, KernelFound, KernelMoves, KernelSearch, Point, cheaper
from dmaverify.values import asdict, dataclass, field, replace
from dmaverify.verdict import Status

if TYPE_CHECKING:
    from dmaverify.program.move import Transfer
    from dmaverify.synth.result import Synthesis

MOST_PROPOSALS = 8
TRIED = 3
"""Layouts of a tensor that are written and judged, the cheapest first, until one holds."""
QUICK = (16, 40)
FULL = (120, 200)
"""Commands priced, and illegal choices in a row, for a price: quickly, and in full."""


@dataclass(frozen=True)
class MoveChange:
    """A move before and after: cycles of its best plan (None: no legal one), with the bands of the profile."""

    name: str
    before: Synthesis
    after: Synthesis
    times: int = 1

    def as_data(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "times": self.times,
            "before": self.before.cycles if self.before.found else None,
            "after": self.after.cycles,
            "bands": [band(self.before), band(self.after)],
        }


@dataclass(frozen=True)
class TensorChange:
    """A tensor before and after; `elsewhere`: what others have to do with it."""

    name: str
    what: str
    before: Tensor
    after: Tensor
    extra_bytes: int
    elsewhere: tuple[str, ...] = ()

    def as_data(self) -> dict[str, Any]:
        return {
            "tensor": self.name, "what": self.what, "before": tensor_text(self.before),
            "after": tensor_text(self.after), "extra_bytes": self.extra_bytes, "elsewhere": list(self.elsewhere),
        }  # fmt: skip


@dataclass(frozen=True)
class LayoutProposal:
    """Tensors changed together, the moves that this changes, the sum over the whole kernel, and the changed text."""

    tensors: tuple[TensorChange, ...]
    moves: tuple[MoveChange, ...]
    before: tuple[int, float]
    after: tuple[int, float]
    dm_bytes: tuple[int, int]
    text: str = field(repr=False)
    diff: str = field(repr=False)

    @property
    def ratio(self) -> float | None:
        """How many times cheaper the changed moves are; None where one of them had no plan."""
        if not all(m.before.found for m in self.moves):
            return None
        return sum(m.before.cycles * m.times for m in self.moves) / sum(m.after.cycles * m.times for m in self.moves)

    def as_data(self) -> dict[str, Any]:
        sums = {"before": self.before, "after": self.after}
        return {
            "tensors": [one.as_data() for one in self.tensors],
            "moves": [one.as_data() for one in self.moves],
            "cycles": {name: cycles for name, (_, cycles) in sums.items()},
            "without_plan": {name: missing for name, (missing, _) in sums.items()},
            "ratio": self.ratio,
            "dm_bytes": {"before": self.dm_bytes[0], "after": self.dm_bytes[1]},
            "diff": self.diff,
            "text": self.text,
            "proved": True,
        }


@dataclass(frozen=True)
class LayoutAnswer:
    """What was found for one file."""

    path: str
    profile: str
    moves: int
    tensors: int
    found: KernelFound = field(repr=False)
    proposals: tuple[LayoutProposal, ...]
    withheld: tuple[tuple[str, str], ...]
    refused: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def ended(self) -> str:
        """How the search ended, with what it left."""
        said = f"{self.found.tried:,} layouts of {self.tensors} tensors, {self.found.asked:,} prices"
        if self.found.left:
            return f"budget reached: {said}; not searched: {', '.join(self.found.left)}"
        return said

    def as_data(self) -> dict[str, Any]:
        front = [
            {
                "dm_bytes": p.dm_bytes,
                "cycles": p.sum[1],
                "without_plan": p.sum[0],
                "changes": {self.found.names[n]: tensor_text(one.tensor) for n, one in sorted(p.chosen.items())},
            }
            for p in self.found.front
        ]
        return {
            "path": self.path, "profile": self.profile, "moves": self.moves, "tensors": self.tensors,
            "before": {"cycles": self.found.before.sum[1], "without_plan": self.found.before.sum[0],
                       "dm_bytes": self.found.before.dm_bytes},
            "proposals": [one.as_data() for one in self.proposals], "front": front, "ended": self.ended,
            "budget_reached": bool(self.found.left),
            "withheld": [{"tensor": name, "why": why} for name, why in self.withheld],
            "refused": list(self.refused), "not_covered": list(NOT_COVERED), "notes": list(self.notes),
        }  # fmt: skip


NOT_COVERED = (
    "layouts that were not tried: other cuts than those of the other sides, other distances of padding",
    "what computes with a tensor, moves of other files, the host: named where a change concerns them",
    "moves that overlap in time: the sum adds them",
)
"""What no proposal claims."""


def ground_of(path: str, target: str | None = None) -> Ground:
    """The tensors of a plan file or Rust kernel; behind `::NAME`, those of other moves are kept. Raises InputError."""
    file, _, name = path.partition("::")
    plan = load(file, target=target)
    asked = {one.name for one in load(file, name, target=target).transfers} if name else set()
    from dmaverify.machines.rngd.rust.plans import KernelPlan

    ground: Ground = (
        KernelGround(file, plan, target) if isinstance(plan, KernelPlan) else PlanGround(file, plan, target)
    )
    moves = ground.scene.moves
    ground.scene = replace(ground.scene, tensors=tuple(
        held if not name or any(moves[index].name in asked for index, _ in held.uses)
        else replace(held, withheld="its moves were not asked for") for held in ground.scene.tensors
    ))  # fmt: skip
    return ground


def layouts_of(path: str, settings: SynthSettings, target: str | None = None) -> LayoutAnswer:
    """Proposals for the tensors of a plan file or kernel. Raises InputError for what cannot be read or priced."""
    names = [name for name in FIXED if name != "evaluations"]
    refuse_settings(asdict(settings), names, "a search of layouts", None)
    ground = ground_of(path, target)
    scene = ground.scene
    if not scene.moves:
        raise InputError(f"{path} has no transfer whose tensors are known", None, "`dmaverify check` says why")
    found = KernelSearch(scene, _price(scene, settings), settings.evaluations or MOST).run()
    found.names = [one.name for one in scene.tensors]
    writer = _Trial(ground, settings, found)
    singles = sorted(found.alone.values(), key=lambda points: (points[0].sum, points[0].dm_bytes))[:MOST_PROPOSALS]
    proposals = [made for points in ([found.together] if found.together else [], *singles) if points
                 for made in (writer.first(points),) if made]  # fmt: skip
    withheld = tuple((one.name, one.withheld) for one in scene.tensors if one.withheld)
    return LayoutAnswer(
        path, settings.profile, len(scene.moves), len(scene.tensors), found, tuple(proposals), withheld,
        tuple(dict.fromkeys(writer.refused)), ground.notes,
    )  # fmt: skip


def _price(scene: KernelMoves, settings: SynthSettings) -> Any:
    from dmaverify.cost.constants import cost_data
    from dmaverify.synth.members import SearchLimits
    from dmaverify.synth.synthesize import price_of

    readings = dict(settings.reading or {})
    data = cost_data(settings.profile, readings, scene.target)

    def price(move: Transfer, quick: bool, above: float) -> float | None:
        evaluations, barren = QUICK if quick else FULL
        limits = SearchLimits(evaluations, ties=0, barren=barren, above=above)
        return price_of(move, scene.target, data, readings, limits)

    return price


class _Trial:
    """Points as proposals: searched in full, written, judged."""

    def __init__(self, ground: Ground, settings: SynthSettings, found: KernelFound) -> None:
        self.ground, self.found = ground, found
        self.settings = replace(settings, routes=False, simulate=False, evaluations=None)
        self.refused: list[str] = []
        self.known: dict[str, Synthesis] = {}
        self.statuses: Mapping[str, Status] | None = None

    def first(self, points: Sequence[Point]) -> LayoutProposal | None:
        """The first of the points that holds as written."""
        for point in points[:TRIED]:
            made = self._made(point)
            if isinstance(made, LayoutProposal):
                return made
            names = ", ".join(self.found.names[n] for n in sorted(point.chosen))
            self.refused.append(f"{names}: {made}")
        return None

    def _made(self, point: Point) -> LayoutProposal | str:
        ground, scene = self.ground, self.ground.scene
        changed = scene.moves_of(point.chosen)
        answers = {index: self._best(move) for index, move in changed.items()}
        for index, answer in answers.items():
            if not answer.found:
                return f"{scene.moves[index].name} would have no plan"
        text = ground.rewritten({n: one.tensor for n, one in point.chosen.items()}, answers)
        if text is None:
            return "its type or table cannot be changed where it stands"
        if why := self._wrong(text, changed):
            return why
        moves = tuple(
            MoveChange(scene.moves[i].name, self._best(scene.moves[i]), answer, scene.times[i])
            for i, answer in sorted(answers.items())
        )
        before, after = self._sums(moves)
        if not cheaper(after, before, sum(m.before.cycles * m.times for m in moves if m.before.found)):
            return "it is not cheaper once searched in full"
        from dmaverify.report.edits import unified

        changes = tuple(self._change(n, point) for n in sorted(point.chosen))
        dm_bytes = self.found.before.dm_bytes, point.dm_bytes
        return LayoutProposal(changes, moves, before, after, dm_bytes, text, unified(ground.path, ground.text, text))

    def _change(self, number: int, point: Point) -> TensorChange:
        held, new = self.ground.scene.tensors[number], point.chosen[number]
        extra = (new.tensor.mapping.size - held.tensor.mapping.size) * held.bits // 8
        left = tuple(self.ground.elsewhere(number))
        return TensorChange(held.name, new.what, held.tensor, new.tensor, extra, left)

    def _sums(self, moves: Sequence[MoveChange]) -> tuple[tuple[int, float], tuple[int, float]]:
        """The sum of all moves before, and after these changes."""
        missing, cycles = self.found.before.sum
        gone = sum(not m.before.found for m in moves)
        saved = sum((m.before.cycles if m.before.found else 0.0) * m.times - m.after.cycles * m.times for m in moves)
        return (missing, cycles), (missing - gone, cycles - saved)

    def _best(self, move: Transfer) -> Synthesis:
        from dmaverify.language.expr import axes_of

        key = f"{move.name} {move.dtype} {move.source} {move.dest}"
        if key not in self.known:
            bare = move.with_given()
            axes = {**axes_of(move.source.mapping), **axes_of(move.dest.mapping)}
            self.known[key] = synthesize_move(bare, self.ground.scene.target, axes, self.settings, advise=False)
        return self.known[key]

    def _wrong(self, text: str, changed: Mapping[int, Transfer]) -> str:
        """Why the changed text does not hold; empty where it does."""
        ground = self.ground
        if self.statuses is None:
            self.statuses = ground.judged(ground.text)[1]
        try:
            moves, statuses = ground.judged(text)
        except InputError as error:
            return f"the changed text cannot be read: {error.message}"
        for index, move in changed.items():
            name = ground.scene.moves[index].name
            read = moves.get(name)
            if read is None or mappings_of(read) != mappings_of(move):
                return f"the changed text says another {name}"
            if statuses.get(name) is not Status.PROVED:
                return f"{name} is not proved with it"
        name = worse(self.statuses, statuses)
        return f"{name} would be worse" if name else ""


def band(found: Synthesis) -> dict[str, Any] | None:
    """The band of an answer's price; None where the profile states none."""
    return found.band.as_data(found.cycles) if found.band is not None else None


def layout_job(job: tuple[str, SynthSettings]) -> dict[str, Any]:
    """The answer for one file as data, for a process pool; what cannot be read or priced is told in it."""
    path, settings = job
    try:
        return layouts_of(path, settings).as_data()
    except InputError as error:
        return {"path": path, "error": error.message, "hint": error.hint}


def layout_answers(paths: Sequence[str], settings: SynthSettings, workers: int) -> list[dict[str, Any]]:
    """The answers for files and folders, in order. Raises InputError where the one file that is named has none."""
    from dmaverify.jobs.judge import plan_files
    from dmaverify.jobs.many_moves import pooled

    files = plan_files(paths)
    jobs = [(path if name is None else f"{path}::{name}", settings) for path, name in files]
    if len(jobs) == 1:
        return [layouts_of(*jobs[0]).as_data()]
    return list(pooled(layout_job, jobs, workers))
