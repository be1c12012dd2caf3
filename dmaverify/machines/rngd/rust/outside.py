"""Names that the crate does not declare: which of them the library has, and by which path a file imports them.

Knows: stages of the library's own, what traits of the crate may give types of the library, `use` declarations.
Does not know: what a name means, terms.
Law: a name is the library's where nothing of the crate may be called by it.
"""

from __future__ import annotations

import re
from collections.abc import Hashable

from dmaverify.machines.rngd.rust.declares import declares_constant, declares_method
from dmaverify.machines.rngd.rust.impls import methods_named
from dmaverify.machines.rngd.rust.module import NameScope

_STAGE = re.compile(
    r"fetch(?:_cast|_mask|_table_lookup|_zero_point_sub)?|switch|collect|transpose|cast|to_[tv]rf"
    r"|contract_(?:outer|packet|time|lane)|commit(?:_cast|_cast_relu|_trim|_view)?|vector_(?:init|final|stash|filter"
    r"|(?:clip|logic|fxp|fp)_zip(?:_with_mode)?|(?:clip|logic|fxp|fp_(?:binary|div|ternary))(?:_with_mode)?|fp_unary"
    r"|fp_to_fxp|fxp_to_fp|reinterpret|int(?:er|ra)_slice_reduce|intra_slice_(?:tag|unzip)|narrow_(?:split|trim)"
    r"|widen_(?:concat|pad))"
)
"""The methods that the library's pipelines have themselves, before which none of a trait comes."""

_RELATIVE = ("crate", "$crate", "self", "super")


def is_own_method(scope: NameScope, name: str) -> bool:
    """Whether the crate may declare a method of that name, for whatever it likes."""
    return bool(methods_named(scope, name)) or declares_method(scope, name, of_integers=True)


def is_own_stage(scope: NameScope, name: str) -> bool:
    """Whether a method that a pipeline is called by may be one of the crate."""
    return _STAGE.fullmatch(name) is None and is_own_method(scope, name)


def may_be_own(scope: NameScope, parts: tuple[str, ...]) -> bool:
    """Whether a path may name something of the crate; also what a trait of it gives a type of the library."""
    if _leads_in(scope, parts):
        return True
    if len(parts) == 1:
        return False
    return declares_method(scope, parts[-1], of_integers=True) or any(declares_constant(scope, one) for one in parts)


def imported(scope: NameScope, parts: tuple[str, ...]) -> Hashable:
    """A path from its `use` on; where none names it, with all that are imported whole. None where the crate may
    declare what is imported.
    """
    named, whole = set[tuple[str, ...]](), set[tuple[str, ...]]()
    seen, todo = list[NameScope](), [scope]
    while todo:
        one = todo.pop()
        seen.append(one)
        named |= {use.path for use in one.uses if use.name == parts[0]}
        stars = [use.path for use in one.uses if use.name == "*"]
        opened = [one.scope_at(path) for path in stars]
        beyond = [path for path, own in zip(stars, opened, strict=True) if own is None]
        renamed = [use.name for use in one.uses if use.path not in ((use.name,), *named)]
        if any(path[0] in renamed or _leads_in(one, path) for path in (*named, *beyond)):
            return None
        whole |= {*beyond}
        outer = one.around if one.kind == "block" else None
        todo += [own for own in (*opened, outer) if own is not None and own not in seen and own not in todo]
    return (tuple(sorted(named)), parts[1:]) if named else (parts, tuple(sorted(whole)))


def _leads_in(scope: NameScope, path: tuple[str, ...]) -> bool:
    """Whether a path may go through a module of the crate, or through an item of it: a variant of its `enum`."""
    if len(path) > 1 and (path[0] in _RELATIVE or scope.scope_at(path[:1]) is not None):
        return True
    starts = [path[:many] for many in range(1, len(path) + 1)]
    return any(scope.path(one, values) is not None for one in starts for values in (False, True))
