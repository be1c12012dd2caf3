"""Much work: shards that make one whole, a cluster that answers as one process does, watching, tools for the shell."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dmaverify.cli.request import Terminal, request_of
from dmaverify.cli.watch import watched
from dmaverify.jobs.sweep import Shard, batches, shard_of
from dmaverify.targets.target import load_target

ROOT = Path(__file__).resolve().parents[2]


def plans(shell, good: str, wrong: str, number: int = 7) -> None:
    for n in range(number):
        shell.write(wrong if n % 3 == 1 else good, f"plans/p{n}.toml")


# ---------------------------------------------------------------- shards


def test_merged_shards_say_what_a_single_run_says(shell, good, wrong):
    plans(shell, good, wrong)
    whole = shell("check", "plans", "--output", "sarif=whole.sarif")
    for k in (1, 2, 3):
        code, out, err = shell("sweep", "plans", "--shard", f"{k}/3", "--out", f"part-{k}.jsonl")
        assert (code, out, f"shard {k} of 3" in err) == (0, "", True)
    parts = [f"part-{k}.jsonl" for k in (2, 3, 1)]
    assert shell("merge", *parts, "--output", "sarif=merged.sarif") == whole
    assert Path("merged.sarif").read_text() == Path("whole.sarif").read_text()


def test_every_job_is_in_one_shard_and_a_new_plan_moves_no_other():
    jobs = [(f"p{n}.toml", None, None, {}) for n in range(50)]
    for total in (1, 2, 7):
        owners = [[k for k in range(1, total + 1) if Shard(k, total).holds(job)] for job in jobs]
        assert {len(own) for own in owners} == {1}
    assert len({Shard(1, 2).holds(job) for job in jobs}) == 2
    assert Shard(1, 2).holds(("p3.toml", None, "rngd", {"x": 1})) == Shard(1, 2).holds(jobs[3])


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "a/b", "1/0", "-1/2", "1/2/3"])
def test_a_shard_that_is_none_is_refused(shell, good, text):
    shell.write(good)
    code, _, err = shell("sweep", "plan.toml", "--shard", text, "--out", "x")
    assert (code, "K/N" in err) == (2, True)


def test_a_sweep_that_is_not_whole_is_refused(shell, good, wrong):
    plans(shell, good, wrong)
    for k in (1, 2):
        shell("sweep", "plans", "--shard", f"{k}/2", "--out", f"part-{k}.jsonl")
    two = Path("part-2.jsonl").read_text()
    shell("sweep", "plans", "--shard", "2/2", "--rlimit", "7", "--out", "other.jsonl")
    refused = {
        "is missing": ("part-1.jsonl",),
        "are both shard 1": ("part-1.jsonl", "part-1.jsonl"),
        "of another sweep": ("part-1.jsonl", "other.jsonl"),
        "nothing to merge": (),
    }
    for said, files in refused.items():
        code, _, err = shell("merge", *files)
        assert (code, said in err) == (2, True), err
    broken = ("", "{}", "[]\n[]", two.rsplit("\n", 2)[0], two.replace('"verdicts"', '"verdict"'), two[:300], "\0")
    for text in broken:
        shell.write(text, "part-2.jsonl")
        code, _, err = shell("merge", "part-1.jsonl", "part-2.jsonl")
        assert (code, "part-2.jsonl is not a whole shard" in err) == (2, True), err


def test_a_shard_that_was_stopped_leaves_no_file(shell, good, wrong, monkeypatch):
    plans(shell, good, wrong)

    def stopped(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("dmaverify.jobs.judge.check_job", stopped)
    assert shell("sweep", "plans", "--out", "part.jsonl")[0] == 2
    assert sorted(path.name for path in shell.folder.iterdir()) == ["plans"]


def test_a_task_of_a_job_array_knows_its_shard(shell, good, wrong, monkeypatch):
    plans(shell, good, wrong)
    assert shell("sweep", "plans", "--shard", "array", "--out", "x")[0] == 2
    monkeypatch.setenv("LSB_JOBINDEX", "2")
    monkeypatch.setenv("LSB_JOBINDEX_END", "4")
    assert "shard 2 of 4" in shell("sweep", "plans", "--shard", "array", "--out", "x")[2]
    for key, value in (("ID", "3"), ("COUNT", "4"), ("MIN", "0")):
        monkeypatch.setenv(f"SLURM_ARRAY_TASK_{key}", value)
    assert "shard 4 of 4" in shell("sweep", "plans", "--shard", "array", "--out", "x")[2]


def test_merge_exits_as_the_verdicts_say(shell, good, wrong):
    shell.write(good, "a.toml")
    shell.write(wrong, "b.toml")
    shell.write("schema = 1\nx", "c.toml")
    for files, code in ((("a.toml",), 0), (("a.toml", "b.toml"), 1), (("a.toml", "b.toml", "c.toml"), 2)):
        shell("sweep", *files, "--out", "all.jsonl")
        assert shell("merge", "all.jsonl")[0] == code
        assert shell("merge", "all.jsonl")[1] == shell("check", *files)[1]


def test_shards_are_numbers_of_a_whole():
    assert shard_of("2/5") == Shard(2, 5)
    assert [len(batch) for batch in batches([("p", None, None, {})] * 37, 16)] == [16, 16, 5]


# ---------------------------------------------------------------- a cluster


@pytest.mark.slow
def test_a_dask_cluster_answers_as_one_process_does(shell, good, wrong):
    from distributed import LocalCluster

    plans(shell, good, wrong, 5)
    shell("sweep", "plans", "--out", "local.jsonl")
    with LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None, protocol="tcp", host="127.0.0.1"
    ) as cluster:
        address = cluster.scheduler_address.replace("tcp://", "")
        assert shell("sweep", "plans", "--out", "dask.jsonl", "--executor", f"dask://{address}")[0] == 0
    assert shell("merge", "dask.jsonl") == shell("merge", "local.jsonl")


def test_an_executor_that_is_none_is_refused(shell, good):
    shell.write(good)
    for text in ("slurm", "dask://", "ray://x"):
        code, _, err = shell("sweep", "plan.toml", "--out", "x", "--executor", text)
        assert (code, "dask://HOST" in err) == (2, True)


# ---------------------------------------------------------------- watching


def test_watching_checks_again_after_a_change_and_tells_what_cannot_be_read(shell, good, wrong):
    path = shell.write(good)
    texts = iter([wrong, "schema = 1\nx", good])
    waits = []

    def wait() -> None:
        waits.append(1)
        if len(waits) % 2 == 0:
            path.write_text(next(texts) + "\n" * len(waits))

    seen = watched(request_of({"paths": ("plan.toml",)}), Terminal(), lambda total: lambda done: None, wait)
    assert [next(seen).code for _ in range(4)] == [0, 1, 2, 0]
    assert len(waits) == 6


def test_watching_a_folder_sees_new_files_and_its_emptiness(shell, good, wrong):
    path = shell.write(good, "plans/a.toml")
    steps = iter([lambda: shell.write(wrong, "plans/b.toml"), path.unlink, (shell.folder / "plans/b.toml").unlink])
    seen = watched(request_of({"paths": ("plans",)}), Terminal(), lambda t: lambda d: None, lambda: next(steps)())
    outcomes = [next(seen) for _ in range(4)]
    assert [outcome.code for outcome in outcomes] == [0, 1, 1, 2]
    assert "no plan file" in outcomes[-1].err[0]


@pytest.mark.parametrize("report", ["json=plans/out.json", "gitlab=plans/out.txt", "json-lines=plans/out.jsonl"])
def test_watching_waits_though_its_own_reports_lie_in_the_folder(shell, good, wrong, report):
    path = shell.write(good, "plans/a.toml")
    waits = []

    def wait() -> None:
        waits.append(1)
        if len(waits) == 2:
            path.write_text(wrong)

    seen = watched(request_of({"paths": ("plans",), "output": (report,)}), Terminal(), lambda t: lambda d: None, wait)
    assert (next(seen).code, Path(report.partition("=")[2]).is_file(), waits) == (0, True, [])
    assert (next(seen).code, len(waits)) == (1, 2)


def test_watching_waits_though_its_screen_is_sent_into_the_folder(shell, good):
    shell.write(good)
    command = [sys.executable, "-m", "dmaverify", "check", "plan.toml", "--watch"]
    with Path("screen.txt").open("w+", encoding="utf-8") as screen:
        running = subprocess.Popen(command, stdout=screen, stderr=screen, env={**os.environ, "PYTHONPATH": str(ROOT)})
        try:
            for _ in range(300):
                if "watching" in Path("screen.txt").read_text():
                    break
                time.sleep(0.05)
            time.sleep(0.5)
        finally:
            running.terminate()
            running.wait()
    assert Path("screen.txt").read_text().count("watching") == 1


BESIDE = """schema = 1
target = "../mine"
[axes]
A = 8
[transfer.t]
dtype = "i8"
source = { tier = "hbm", element = "A" }
dest = { tier = "dm", element = "A" }
stream = { time = "1", packet = "A" }
"""


def test_watching_takes_the_settings_and_the_files_elsewhere_that_are_there_now(shell):
    (shell.folder / ".git").mkdir()
    shutil.copytree(load_target("rngd").folder, shell.folder / "mine")
    machine = shell.folder / "mine" / "target.toml"
    text = machine.read_text(encoding="utf-8")
    shell.write(BESIDE.replace("time", "tyme"), "plans/a.toml")
    steps = iter([
        lambda: shell.write(BESIDE, "plans/a.toml"),
        lambda: machine.write_text(text.replace("f8e4m3", "i8x").replace("i8 = 8", "i7 = 8"), encoding="utf-8"),
        lambda: machine.write_text(text, encoding="utf-8"),
        lambda: shell.write('exclude = ["plans/*"]', "dmaverify.toml"),
        lambda: shell.write('select = ["core/covers"]', "dmaverify.toml"),
    ])  # fmt: skip
    asked = {"paths": ("plans",), "no_cache": True}
    seen = watched(request_of(asked), Terminal(), lambda t: lambda d: None, lambda: next(steps)())
    outcomes = [next(seen) for _ in range(6)]
    assert [one.code for one in outcomes] == [2, 0, 2, 0, 2, 0], [one.out for one in outcomes]
    assert "PROVED of core/covers only" in outcomes[-1].out[0]


# ---------------------------------------------------------------- tools


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_a_shell_is_given_a_script_that_completes(shell, name):
    code, out, _ = shell("completions", name)
    assert (code, "_DMAVERIFY_COMPLETE" in out, "dmaverify" in out) == (0, True, True)


def test_completion_knows_commands_and_options(monkeypatch):
    def completed(*words: str) -> list[str]:
        env = {"COMP_WORDS": " ".join(("dmaverify", *words)), "COMP_CWORD": str(len(words)), "PATH": ""}
        env |= {"_DMAVERIFY_COMPLETE": "bash_complete", "PYTHONPATH": str(ROOT)}
        code = "from dmaverify.cli.app import main; main()"
        done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
        return [line.split(",")[1] for line in done.stdout.splitlines()]

    assert completed("swe") == ["sweep"]
    assert "--baseline" in completed("check", "--b")


def test_the_manual_names_every_command_and_option(shell):
    from dmaverify.cli.app import cli

    _, page, _ = shell("man")
    plain = page.replace("\\-", "-")
    assert page.startswith(".TH DMAVERIFY 1")
    for name in cli.list_commands(None):
        assert f".SS {name}" in plain
        for option in (o for p in cli.get_command(None, name).params for o in p.opts if o.startswith("--")):
            assert option in plain, (name, option)
    assert ".SH EXIT STATUS" in page


def test_starting_imports_nothing_heavy():
    code = (
        "import sys; before = set(sys.modules); import dmaverify.cli.app;"
        "print(*sorted({m.split('.')[0] for m in set(sys.modules) - before}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    heavy = {"numpy", "z3", "pydantic", "tree_sitter", "sqlite3", "sympy", "matplotlib", "distributed", "pytest", "xml"}
    assert not heavy & set(done.stdout.split())
    late = "from dmaverify.cli.app import invoke; import sys; invoke(['--version']); print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", late], capture_output=True, text=True, cwd=ROOT, check=True)
    assert not {"dmaverify.cli.sweep", "dmaverify.cli.tools", "dmaverify.jobs.cache"} & set(done.stdout.split())


def test_json_of_the_cache_command_is_data(shell, good, monkeypatch):
    monkeypatch.delenv("DMAVERIFY_NO_CACHE")
    shell.write(good)
    shell("check", "plan.toml")
    assert json.loads(shell("cache", "--json")[1])["entries"] == 1
