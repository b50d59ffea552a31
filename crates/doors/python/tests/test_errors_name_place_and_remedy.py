"""One class of exceptions for each exit status, with the place."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import time

import parades as p
import pytest
from conftest import command


def test_a_wrong_network_names_the_line_of_its_text(sites: p.Network) -> None:
    sites.link("gw-west", "nowhere")
    with pytest.raises(p.InputError, match=r"^network.toml:\d+:\d+: .*nowhere") as caught:
        p.run(sites)
    lines = sites.to_toml().splitlines()
    assert lines[caught.value.line - 1] == caught.value.source_line
    assert "nowhere" in caught.value.source_line[caught.value.column - 1 :]
    assert caught.value.exit_status == 2
    assert isinstance(caught.value, ValueError)


def test_a_wrong_file_names_its_place(tmp_path) -> None:
    file = tmp_path / "net.toml"
    file.write_text('network = "x"\nnodes = ["a"]\nlnik = 1\n')
    with pytest.raises(p.InputError) as caught:
        p.run(file)
    assert (caught.value.file, caught.value.line, caught.value.column) == (str(file), 3, 1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: p.run("capmus"), "did you mean `campus`"),
        (lambda: p.run("campus", netwroks=2), "did you mean `networks`"),
        (lambda: p.run("phold", engine="fast"), "fast"),
        (lambda: p.run("phold", until=3), 'until=3: .* write for example "10s"'),
        (lambda: p.run("phold", seed=-1), "seed=-1"),
        (lambda: p.run("phold", seed="1"), "seed='1'"),
        (lambda: p.run("phold", engine="window", threads=0), "threads=0"),
        (lambda: p.run("phold", engine="window", threads=100_000), "threads=100000: there are from 1 to"),
        (lambda: p.run("phold", processes=100_000), "processes=100000: there are from 1 to"),
        (lambda: p.compare("phold", threads=[1, 0]), "threads=0"),
        (lambda: p.start("mm1").with_engine("fast").finish(), "fast"),
        (lambda: p.run("phold", until="0s"), "above it"),
        (lambda: p.run("phold", memory_limit="much"), "memory_limit=much"),
        (lambda: p.run("phold", engine="sequential", threads=2), "one thread"),
        (lambda: p.run("mm1", customers=10).table("flows"), "there is no table"),
        (lambda: p.run("mm1", customers=10).histogram("events"), "is no histogram"),
        (lambda: p.Network().nodes("a", object()).check(), "type `object`"),
        (lambda: p.start("mm1").branch(utilisation=0.9), "at its start"),
        (lambda: p.start("mm1").save("x"), "nothing to save"),
        (lambda: p.start("mm1", customers=100).advance("1ms").advance("1us"), "cannot go back to"),
        (lambda: p.load("/nowhere/x.save"), "cannot be read"),
        (lambda: p.why("mm1", customers=10), "does not fail"),
        (lambda: p.rerun("/nowhere"), "summary.json"),
        (lambda: p.sweep("mm1", {"utilisation": ["x"]}), "utilisation"),
        (lambda: p.Network.from_toml("/nowhere.toml"), "cannot be read"),
        (lambda: p.Network.from_toml("a = \n"), "network.toml"),
    ],
)
def test_wrong_input_is_refused_in_one_sentence(call, message: str) -> None:
    with pytest.raises(p.InputError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_a_failed_run_says_where_and_how_to_repeat_it() -> None:
    with pytest.raises(p.SimulationError, match="reproduce it with `parades run faulty") as caught:
        p.run("faulty", fault="fail")
    assert caught.value.exit_status == 1
    assert caught.value.lp is not None
    with pytest.raises(p.SimulationError, match="panic"):
        p.run("faulty", fault="panic")


def test_an_exception_of_the_callback_ends_the_run() -> None:
    def refuse(now: p.Progress) -> None:
        assert 0 <= now.share <= 1
        raise ZeroDivisionError

    begin = time.monotonic()
    with pytest.raises(ZeroDivisionError):
        p.run("phold", until="1000000s", progress=refuse)
    assert time.monotonic() - begin < 60
    assert p.run("phold", until="1s").events > 0, "later runs are not stopped"


INTERRUPTED = """
    import parades as p
    begun = []
    def hear(now):
        if now.share > 0 and not begun:
            begun.append(print("begun", flush=True))
    try:
        p.{call}
    except KeyboardInterrupt as stopped:
        print(type(stopped).__name__, stopped.exit_status, (stopped.run or stopped.sweep) is not None, flush=True)
    print(p.run("phold", until="1s").events > 0)
"""


@pytest.mark.parametrize(
    "call",
    [
        'run("phold", until="1000000s", progress=hear)',
        'run("phold", until="1000000s", engine="window", threads=2, progress=hear)',
        'run("phold", until="1000000s", engine="window", threads=1, processes=2, progress=hear)',
        'sweep("phold", {}, seeds="1..100000", jobs=2, progress=hear)',
    ],
)
def test_ctrl_c_ends_a_run_with_its_results_so_far(call: str) -> None:
    program = textwrap.dedent(INTERRUPTED).replace("{call}", call)
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "begun\n"
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=120)
    assert out.splitlines() == ["Stopped 130 True", "True"]
    assert child.returncode == 0


def test_a_stopped_comparison_has_the_runs_that_had_ended() -> None:
    engines, shares = ["sequential", "rounds", "window"], [0.0]

    def hear(now: p.Progress) -> None:
        # The share falls when the second run begins.
        if now.share < shares[-1]:
            signal.raise_signal(signal.SIGINT)
        shares.append(now.share)

    with pytest.raises(p.Stopped, match="`comparison` has the other runs") as caught:
        p.compare("phold", until="50000s", engines=engines, threads=1, progress=hear)
    comparison = caught.value.comparison
    assert comparison.engines[0] == "sequential"
    assert comparison.engines + comparison.stopped == engines
    assert comparison.digest in comparison.report()
    assert (caught.value.run, caught.value.sweep) == (None, None)


def test_ctrl_c_without_results_has_its_own_class_too() -> None:
    def hear(now: p.Progress) -> None:
        signal.raise_signal(signal.SIGINT)

    for ask in (
        lambda: p.compare("phold", until="1000000s", progress=hear),
        lambda: p.diff(("phold", dict(until="1000000s")), ("phold", dict(until="1000000s")), progress=hear),
    ):
        with pytest.raises(p.Stopped) as caught:
            ask()
        assert (caught.value.run, caught.value.sweep, caught.value.comparison) == (None, None, None)


def test_data_of_the_program_are_not_in_the_limit_of_a_run() -> None:
    def run() -> str | None:
        return p.run("phold", lps=64, until="200s", memory_limit="32MiB", engine="sequential").digest

    digest = run()
    data = b"x" * (200 << 20)
    assert run() == digest
    with pytest.raises(p.SimulationError, match="memory"):
        p.run("phold", lps=1_000_000, until="200s", memory_limit="32MiB", engine="sequential")
    assert len(data) == 200 << 20


def test_the_command_has_its_exit_statuses() -> None:
    assert command("run", "phold", "--until", "1s").returncode == 0
    assert command("run", "faulty", "--set", "fault=fail").returncode == 1
    wrong = command("run", "capmus")
    assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1)
    assert "\nphold " in command("list").stdout


def test_a_lost_process_ends_the_run() -> None:
    program = """
import os, signal, subprocess, threading, time
import parades as p
def kill():
    time.sleep(3)
    mine = subprocess.run(["pgrep", "-P", str(os.getpid()), "-f", "parades"], capture_output=True, text=True)
    for pid in mine.stdout.split():
        os.kill(int(pid), signal.SIGKILL)
threading.Thread(target=kill).start()
try:
    p.run("phold", until="1000000s", engine="window", threads=1, processes=2)
except p.SimulationError as error:
    print("lost" if "worker 1" in str(error) else error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stdout == "lost\n", done.stderr
