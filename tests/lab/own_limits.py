"""The data of a machine with another value of a limit: its edges state the old one, of which they speak."""

from __future__ import annotations

import re
import tomllib


def with_limit(text: str, limit: str, value: int) -> str:
    data = tomllib.loads(text)
    old = data["limit"][limit]["value"]
    text, count = re.subn(rf"(\[limit\.{limit}\]\nvalue = )[\d_]+", rf"\g<1>{value}", text)
    assert count == 1, limit
    rules = [name for name, rule in data.get("rule", {}).items() if limit in rule["ports"]]
    lines, inside = [], False
    for line in text.splitlines():
        if line.startswith("["):
            inside = any(line.startswith((f'[rule."{name}".edge]', f'[[rule."{name}".edge]]')) for name in rules)
        if inside and re.match(r"last_ok|first_bad", line) and not re.search(rf"\b{limit} =", line):
            line = re.sub(r"\{ ?", f"{{ {limit} = {old}, ", line, count=1).replace(", }", " }")
        lines.append(line)
    return "\n".join(lines) + "\n"
