"""The built wheel works in a fresh virtual environment, away from the checkout, and brings its encodings with it."""

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.xdist_group("wheel")

GOOD = """
schema = 1
target = "rngd"

[axes]
A = 8
B = 8
C = 256

[transfer.swap]
dtype  = "i8"
source = { tier = "hbm", base = 0, element = "A, B, C" }
dest   = { tier = "dm", base = 0, element = "B, A, C" }
stream = { time = "A, B", packet = "C" }
"""
WRONG = GOOD.replace(
    'stream = { time = "A, B", packet = "C" }',
    'read  = "[A=8:2048, B=8:256, C=256:1]:256 HBM/D@0"\nwrite = "[A=8:256, B=8:2304, C=256:1]:256 DM/D@0"',
)


def run(command: list[str], folder: Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=120, check=False)


@dataclass(frozen=True)
class Installed:
    """The wheel, the interpreter of the fresh environment, and a folder that is not the checkout."""

    wheel: Path
    bin: Path
    folder: Path

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "DMAVERIFY"))}
        return run([str(self.bin / command[0]), *command[1:]], self.folder, clean)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Builds offline with hatchling, installs without dependencies, borrows those of the running interpreter."""
    folder = tmp_path_factory.mktemp("away")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "dist")]
    done = run(build, ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = (folder / "dist").glob("*.whl")
    venv.create(folder / "env", with_pip=False, symlinks=os.name != "nt")
    place = {"base": str(folder / "env"), "platbase": str(folder / "env")}
    scripts, packages = (Path(sysconfig.get_path(key, "venv", place)) for key in ("scripts", "purelib"))
    python = scripts / ("python.exe" if os.name == "nt" else "python")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps", "--no-index"]
    pip += ["--no-compile", str(wheel)]  # of most modules nothing is asked
    done = run(pip, folder)
    assert done.returncode == 0, done.stdout + done.stderr
    borrowed = dict.fromkeys(sysconfig.get_path(key) for key in ("purelib", "platlib"))
    (packages / "borrowed.pth").write_text("".join(f"{path}\n" for path in borrowed), encoding="utf-8")
    return Installed(wheel, scripts, folder)


def test_the_wheel_holds_the_package_its_encodings_and_nothing_else(installed: Installed) -> None:
    names = set(zipfile.ZipFile(installed.wheel).namelist())
    package = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "dmaverify").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    encodings = {
        f"dmaverify/_encodings/{path.relative_to(ROOT / 'encodings').as_posix()}"
        for path in (ROOT / "encodings").rglob("*")
        if path.is_file()
    }
    examples = {
        f"dmaverify/_examples/{path.relative_to(ROOT / 'examples').as_posix()}"
        for path in (ROOT / "examples").rglob("*")
        if path.is_file() and not {"ci", "__pycache__"} & set(path.relative_to(ROOT).parts)
    }
    assert encodings
    assert examples
    proofs = {f"dmaverify/_proofs/{path.name}" for path in (ROOT / "proofs").glob("*.py")}
    shipped = package | encodings | examples | proofs
    assert {name for name in names if ".dist-info/" not in name} == shipped
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)


def test_the_installed_package_is_the_one_from_the_wheel(installed: Installed) -> None:
    done = installed.run("python", "-c", "import dmaverify; print(dmaverify.__file__)")
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).is_relative_to(installed.folder)


def test_the_installed_command_starts_a_plan_that_it_proves(installed: Installed) -> None:
    made = installed.run("dmaverify", "new", "tile", "--to", "first")
    assert made.returncode == 0, made.stderr
    done = installed.run("dmaverify", "check", "first")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_installed_command_says_its_version(installed: Installed) -> None:
    done = installed.run("dmaverify", "--version")
    assert done.returncode == 0, done.stderr
    assert installed.wheel.name.split("-")[1] in done.stdout


def test_the_installed_command_checks_plans_away_from_the_checkout(installed: Installed) -> None:
    """No encodings lie beside the installed package, so a verdict means that those of the wheel were read."""
    (installed.folder / "good.toml").write_text(GOOD, encoding="utf-8")
    (installed.folder / "wrong.toml").write_text(WRONG, encoding="utf-8")
    good, wrong = (installed.run("dmaverify", "check", name) for name in ("good.toml", "wrong.toml"))
    assert good.returncode == 0, good.stdout + good.stderr
    assert "PROVED" in good.stdout
    assert wrong.returncode == 1, wrong.stdout + wrong.stderr
    assert "error[core/" in wrong.stdout
    assert "2304" in wrong.stdout
