"""The extension for VS Code: what its files promise each other, the editor and the server; no network and no npm."""

import json
import re
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "editors" / "vscode"
MANIFEST = json.loads((FOLDER / "package.json").read_text(encoding="utf-8"))
SCRIPT = (FOLDER / "extension.js").read_text(encoding="utf-8")


def test_the_manifest_names_a_script_that_exists_and_what_it_requires() -> None:
    assert (FOLDER / MANIFEST["main"]).is_file()
    required = set(re.findall(r'require\("([^"]+)"\)', SCRIPT)) - {"vscode"}
    assert {name.split("/")[0] for name in required} == set(MANIFEST["dependencies"])
    assert MANIFEST["engines"]["vscode"]
    assert {"activate", "deactivate"} <= set(re.findall(r"\w+", SCRIPT.rpartition("module.exports")[2]))


def test_it_wakes_for_every_kind_of_file_that_the_server_reads() -> None:
    events = {one.partition(":")[2] for one in MANIFEST["activationEvents"] if one.startswith("onLanguage:")}
    own = {one["id"] for one in MANIFEST["contributes"]["languages"]}
    assert events == {"toml", "rust", "c", *own}
    suffixes = {end for one in MANIFEST["contributes"]["languages"] for end in one["extensions"]}
    assert suffixes == {".mlir", ".pto", ".job"}
    asked = set(re.findall(r'language: "(\w+)"', SCRIPT))
    assert {"toml", "rust", "mlir", "c"} == asked
    assert all(end[1:] in SCRIPT for end in suffixes)


def test_it_tells_the_server_of_every_file_that_a_document_may_rest_on() -> None:
    (watched,) = re.findall(r'FILES = "\*\*/\*\.\{([\w,]+)\}"', SCRIPT)
    assert set(watched.split(",")) == {"toml", "smt2", "rs", "pto", "mlir", "c", "h", "job"}
    assert "createFileSystemWatcher(FILES)" in SCRIPT
    assert "fileEvents: watcher" in SCRIPT


def test_commands_and_settings_of_the_manifest_are_those_of_the_script() -> None:
    commands = {one["command"] for one in MANIFEST["contributes"]["commands"]}
    assert commands == set(re.findall(r'registerCommand\("([^"]+)"', SCRIPT))
    settings = MANIFEST["contributes"]["configuration"]["properties"]
    assert {f"dmaverify.{name}" for name in re.findall(r'settings\.get\("(\w+)"\)', SCRIPT)} == set(settings)
    assert settings["dmaverify.arguments"]["default"] == ["lsp"]
