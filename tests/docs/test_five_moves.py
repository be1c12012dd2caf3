"""Five moves as a new user makes them: a plan of `new` with other sizes, commands from `derive`, a wrong one mended."""

from __future__ import annotations

from pathlib import Path

import pytest

from dmaverify.cli.app import invoke

MOVES = {
    "relayout": ({"A = 64": "A = 32", "B = 8": "B = 12"}, 'write = "[B=12:256', 'write = "[B=12:128'),
    "tile": ({"131584": "2101248", "C # 1024": "C # 4096", "C = 128": "C = 256"}, "R=64:8192", "R=64:4096"),
    "head-split": ({"T = 128": "T = 512", "H = 64": "H = 32"}, "[T=512:128", "[T=512:64"),
    "pad": ({"W = 224": "W = 200", "W # 256": "W # 208"}, "[K=8:208", "[K=8:200"),
}  # fmt: skip


def shell(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    code = invoke(words)
    told = capsys.readouterr()
    return code, told.out + told.err


@pytest.mark.parametrize("kind", MOVES)
def test_a_move_is_proved_with_its_commands_and_a_wrong_number_in_them_is_mended(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    sizes, right, wrong = MOVES[kind]
    assert shell(capsys, "new", kind)[0] == 0
    file = Path(f"{kind}.toml")
    text = file.read_text(encoding="utf-8")
    for old, new in sizes.items():
        assert old in text
        text = text.replace(old, new)
    file.write_text(text, encoding="utf-8")
    assert shell(capsys, "check", ".", "--format", "concise")[0] == 0
    code, derived = shell(capsys, "derive", str(file))
    sides = [line.split() for line in derived.splitlines() if line.split()[:1] in (["read"], ["write"])]
    assert code == 0
    assert [side for side, *_ in sides] == ["read", "write"]
    printed = "\n".join(f'{side} = "{" ".join(config)}"' for side, *config in sides)
    with_commands = text.replace("\nexpect", f"\n{printed}\nexpect")
    file.write_text(with_commands, encoding="utf-8")
    assert shell(capsys, "check", str(file), "--format", "concise")[0] == 0
    assert with_commands.count(right) == 1
    file.write_text(with_commands.replace(right, wrong), encoding="utf-8")
    code, said = shell(capsys, "check", str(file))
    assert code == 1
    assert all(part in said for part in ("error[core/", "^", f"{file}:", "(checked: the move is then proved)"))
    assert shell(capsys, "check", "--fix", str(file))[0] == 0
    assert file.read_text(encoding="utf-8") == with_commands


def test_a_gather_is_proved_for_every_list_in_the_range_and_refuted_beyond_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert shell(capsys, "new", "gather")[0] == 0
    text = Path("gather.toml").read_text(encoding="utf-8")
    for rows, code in (("[0, 127]", 0), ("[0, 128]", 1)):
        Path("gather.toml").write_text(text.replace("[0, 127]", rows), encoding="utf-8")
        assert shell(capsys, "check", "gather.toml", "--format", "concise")[0] == code
    code, said = shell(capsys, "derive", "gather.toml")
    assert code == 1
    assert "dmaverify cost gather.toml::embedding" in said
    assert shell(capsys, "cost", "gather.toml::embedding")[0] == 0
