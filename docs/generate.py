"""The pages that nobody writes: commands, settings, the plan file, rules of every machine, the Python interface.

Knows: where each of these keeps its own words. Does not know: Sphinx.
Law: everything that the tool knows of itself is on a page, and nothing is there that the tool does not say.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any

import references

NOTE = "% Written by docs/generate.py; changes are lost.\n\n"
PUBLIC = ("mapping", "load", "check", "run", "price", "synthesize", "load_target")
VALUES = ("Verdict", "Finding", "Options", "Command", "Loop", "Port", "Engine", "InputError")
TESTING = (
    ("dmaverify.testing.plugin", ("assert_plan", "assert_equivalent", "assert_same")),
    ("dmaverify.testing", ("mappings", "tensors", "moves", "streams", "plans", "faults", "seeded_plan", "with_fault")),
)


def pages() -> dict[str, str]:
    """Every generated page by its name."""
    made = {"commands": commands_page(), "settings": settings_page(), "plan-file": plan_page(), "python": python_page()}
    made["mappings"], made["configurations"] = references.mapping_page(), references.configuration_page()
    made["rules-core"] = core_page()
    from dmaverify.targets.target import available_targets, load_target

    for name in available_targets():
        made[f"rules-{name}"] = rules_page(load_target(name))
    listed = "\n".join(sorted(name for name in made if name.startswith("rules-")))
    made["rules"] = f"# Rules\n\nOf the core and of every machine that ships.\n\n```{{toctree}}\n{listed}\n```\n"
    return made


def write_pages(folder: Path) -> None:
    """Writes the pages that differ from what is there, so that a second build has nothing to do."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        file = folder / f"{name}.md"
        if not file.exists() or file.read_text(encoding="utf-8") != NOTE + text:
            file.write_text(NOTE + text, encoding="utf-8")


def plain(text: Any) -> str:
    """One paragraph or table cell that Markdown reads as text; `code` stays code."""
    parts = re.split(r"(`[^`]*`)", " ".join(str(text).split()))
    return "".join(part if part.startswith("`") else re.sub(r"([\\*_{}\[\]<>#|$])", r"\\\1", part) for part in parts)


def cell(text: Any) -> str:
    return plain(text).replace("|", "\\|") if "`" in str(text) else plain(text)


# ---------------------------------------------------------------- commands, settings, plan file


def commands_page() -> str:
    import click

    from dmaverify.cli.app import cli

    context = click.Context(cli, info_name="dmaverify", max_content_width=100, terminal_width=100)
    parts = ["# Commands\n\nAs `dmaverify COMMAND --help` prints them; `dmaverify man` is the same as a manual page.\n"]
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None
        inner = click.Context(command, info_name=name, parent=context, max_content_width=100, terminal_width=100)
        parts.append(f"## {name}\n\n```text\n{command.get_help(inner)}\n```\n")
    return "\n".join(parts)


def settings_page() -> str:
    from dmaverify.plan import settings

    defaults = {part.name: part for part in fields(settings.Settings)}
    shown = settings.Settings()
    rows = [
        f"| `{key}` | {cell(wanted)} | `{json.dumps(_default(getattr(shown, key.replace('-', '_'))))}` |"
        for key, (_, wanted) in settings._KINDS.items()
        if key.replace("-", "_") in defaults
    ]
    files = [f"- `{name}`: {' or '.join(_table(table) for table in tables)}" for name, tables in settings.FILES.items()]
    return "\n".join(
        [
            "# Settings\n",
            "The nearest folder with settings wins, and in it the first of these files; files are never mixed:\n",
            *files,
            "",
            "An option of the command line wins over the file. Paths are relative to the file. An unknown key is",
            "an error with a suggestion. `dmaverify check --show-settings` prints what is in force, `--config FILE`",
            "names a file, `--isolated` takes none. `check --stdin` takes no settings: other tools get what they ask.",
            "\n| key | what | default |\n|---|---|---|",
            *rows,
            "",
        ]
    )


def _table(names: tuple[str, ...]) -> str:
    return f"`[{'.'.join(names)}]`" if names else "the whole file"


def _default(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else dict(value) if hasattr(value, "keys") else value


def plan_page() -> str:
    from dmaverify.plan.schema import json_schema

    schema = json_schema()
    named = schema.get("$defs", {})
    tables = [("a plan", schema), *sorted((name.removesuffix("Table").lower(), part) for name, part in named.items())]
    parts = [
        "# The plan file\n",
        "Made from the JSON Schema that `dmaverify schema` prints. An editor with a TOML plugin completes and checks",
        "plans with it: write the schema to a file, and `#:schema FILE` on the first line of a plan.\n",
    ]
    examples = references.key_examples()
    for name, part in tables:
        if part.get("type") != "object" or "properties" not in part:
            continue
        need = set(part.get("required", ()))
        about = plain(part.get("description", ""))
        parts.append(f"## {name}\n\n{about}\n\n| key | needed | what | for example |\n|---|---|---|---|")
        parts += [
            f"| `{key}` | {'yes' if key in need else ''} | {cell(value.get('description', _kind(value)))} | "
            f"{_example(examples.get((name.removeprefix('a '), key)))} |"
            for key, value in part["properties"].items()
        ]
        parts.append("")
    parts.append(references.whole_examples())
    return "\n".join(parts)


def _example(found: tuple[str, str] | None) -> str:
    """A line of a plan that ships, and which."""
    if found is None:
        return ""
    line, file = (text.replace("|", "\\|").replace("`", "'") for text in found)
    return f"`{line}` ({plain(file.removeprefix('examples/'))})"


def _kind(value: dict[str, Any]) -> str:
    if "$ref" in value:
        return value["$ref"].rsplit("/", 1)[-1].removesuffix("Table").lower()
    if "anyOf" in value:
        return " or ".join(dict.fromkeys(filter(None, map(_kind, value["anyOf"]))))
    if "const" in value or "enum" in value:
        return ", ".join(f"`{part}`" for part in value.get("enum", [value.get("const")]))
    return {"null": ""}.get(str(value.get("type", "")), str(value.get("type", "")))


# ---------------------------------------------------------------- rules


def core_page() -> str:
    from dmaverify.report.rules import obligation_json
    from dmaverify.targets.target import load_obligations

    parts = ["# Obligations of the core\n\nThey hold for every machine.\n"]
    for obligation in load_obligations().values():
        parts += _rule(obligation_json(obligation))
    return "\n".join(parts)


def rules_page(target: Any) -> str:
    from dmaverify.report.rules import rule_json

    head = f"# {target.name}: {plain(target.title)}\n\nData version {target.version}; {len(target.rules)} rules.\n"
    parts = [head]
    for rule in target.rules.values():
        parts += _rule(rule_json(rule, target))
    return "\n".join(parts)


def _rule(data: dict[str, Any]) -> Iterator[str]:
    severity = data.get("severity") or "off by default"
    basis = f", {data['basis']}" if data.get("basis") else ""
    yield f"## {data['id']}\n\n{plain(data['title'])} ({severity}{basis}).\n"
    for word in ("why", "proof", "wrong", "right", "hint", "source"):
        if data.get(word):
            yield f"{word}\n: {plain(data[word])}\n"
    for name, cited in data.get("cites", {}).items():
        yield f"source on {name}\n: {plain(cited)}\n"
    for edge in data.get("edges", ()):
        good, bad = (", ".join(f"{k} = {v:,}" for k, v in edge[key].items()) for key in ("last_ok", "first_bad"))
        yield f"edge\n: good: {plain(good)}; bad: {plain(bad)}\n"
    for name, reading in (data.get("readings") or {}).items():
        mark = " (the default)" if name == data.get("reading") else ""
        yield f"reading `{name}`{mark}\n: {plain(reading['says'])}\n"
    if data.get("formula"):
        yield f"```text\n{data['formula']}\n```\n"


# ---------------------------------------------------------------- Python


def python_page() -> str:
    import dmaverify

    parts = [
        "# Python\n",
        "Everything is typed, and imported only when it is first used: `import dmaverify as dv` costs a few",
        "milliseconds.\n",
        "## Functions\n",
    ]
    parts += [text for name in PUBLIC for text in _callable(f"dv.{name}", getattr(dmaverify, name))]
    parts.append("## Values\n")
    parts += [text for name in VALUES for text in _value(f"dv.{name}", getattr(dmaverify, name))]
    parts.append("## For tests\n")
    for module, names in TESTING:
        room = import_module(module)
        parts += [text for name in names for text in _callable(f"{module}.{name}", getattr(room, name))]
    return "\n".join(parts)


def _callable(name: str, function: Any) -> Iterator[str]:
    signature = re.sub(r"<factory>|<[\w. ]+object at 0x\w+>", "...", str(inspect.signature(function)))
    yield f"### {name}\n\n```python\n{name}{_folded(signature)}\n```\n"
    yield from _docs(function)


def _value(name: str, kind: type) -> Iterator[str]:
    names = [part.name for part in fields(kind)] if hasattr(kind, "__dataclass_fields__") else []
    yield f"### {name}\n"
    yield from _docs(kind)
    if names:
        yield f"Fields: {', '.join(f'`{part}`' for part in names)}.\n"


def _folded(signature: str) -> str:
    if len(signature) < 80:
        return signature
    inside, _, after = signature[1:].rpartition(")")
    parts = re.split(r", (?=\w+[:=]|\*)", inside)
    return "(\n" + "".join(f"    {part},\n" for part in parts if part) + f"){after}"


def _docs(thing: Any) -> Iterator[str]:
    text = inspect.getdoc(thing) or ""
    for paragraph in text.split("\n\n"):
        yield f"```python\n{paragraph}\n```\n" if paragraph.startswith(">>> ") else f"{plain(paragraph)}\n"
