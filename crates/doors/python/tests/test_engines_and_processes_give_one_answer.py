"""Engines, threads, processes and cuts do not change the answer."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading

import parades as p
import pytest
from conftest import by_command, command, held_mb


def test_engines(sites: p.Network) -> None:
    digest = p.run(sites, engine="sequential").digest
    for engine in ("rounds", "window", "null-message", "time-warp"):
        assert p.run(sites, engine=engine, threads=2).digest == digest
    compared = p.compare(sites, engines=["sequential", "window"], threads=[1, 2])
    assert compared.digest == digest
    assert compared.summary["same"] is True


@pytest.mark.parametrize("processes", [2, 3])
def test_processes(sites: p.Network, processes: int) -> None:
    alone = p.run(sites, engine="sequential")
    for engine in ("window", "time-warp"):
        several = p.run(sites, engine=engine, processes=processes, threads=1)
        assert (several.digest, several.processes) == (alone.digest, processes)
        assert several.summary["metrics"] == alone.summary["metrics"]


def test_sweeps_have_the_digests_of_single_runs(sites: p.Network) -> None:
    swept = p.sweep(sites, {"link.gw.rate": ["5Mbps", "10Mbps"]}, seeds=range(1, 4), jobs=2)
    assert swept.failures == 0
    runs = swept.runs()
    assert len(runs) == 6
    for row in runs:
        rate = {5e6: "5Mbps", 10e6: "10Mbps"}[row["link.gw.rate"]]
        assert p.run(sites, seed=row["seed"], set={"link.gw.rate": rate}).digest == row["digest"]
    counted = [row["runs"] for row in swept.means() if row["metric"] == "flows_complete"]
    assert counted == [3, 3]


def test_a_run_that_fails_is_a_row_of_its_sweep() -> None:
    swept = p.sweep("faulty", {"fault": ["none", "fail"]}, jobs=1)
    assert swept.failures == 1
    assert [row["error"] is None for row in swept.runs()] == [True, False]


def test_cuts_do_not_change_the_answer(sites: p.Network) -> None:
    whole = p.run(sites)
    cut = p.start(sites).advance("500ms").advance("1s")
    assert (cut.time, cut.so_far.events) == ("1s", cut.events)
    finished = cut.with_engine("window", threads=2).finish()
    assert (finished.digest, finished.events) == (whole.digest, whole.events)
    assert finished.summary["metrics"] == whole.summary["metrics"]
    assert cut.advance("1s").digest == cut.digest


def test_cuts_on_several_processes(sites: p.Network, tmp_path) -> None:
    whole = p.run(sites)
    cut = p.start(sites, engine="window", processes=2, threads=1).advance("1s")
    cut.save(tmp_path / "two.save")
    for other in (cut, p.load(tmp_path / "two.save").with_engine("sequential")):
        assert other.finish().digest == whole.digest


def test_saves_go_from_python_to_the_command_and_back(sites: p.Network, tmp_path) -> None:
    digest = p.run(sites).digest
    p.start(sites).advance("1s").save(tmp_path / "of-python.save")
    done = command("resume", str(tmp_path / "of-python.save"), "--json", "--quiet")
    assert f'"digest":"{digest}"' in done.stdout, done.stderr

    (tmp_path / "net.toml").write_text(sites.to_toml())
    file = str(tmp_path / "net.toml")
    by_command(file, "--until", "1s", "--save", str(tmp_path / "of-the-command.save"))
    assert p.load(tmp_path / "of-the-command.save").finish(until="3s").digest == digest


def test_a_branch_is_that_of_the_command(sites: p.Network, tmp_path) -> None:
    cut = p.start(sites).advance("500ms")
    cut.save(tmp_path / "cut.save")
    branch = cut.branch(set={"link.gw.rate": "1Mbps"})
    ours = branch.finish()
    assert ours.digest != cut.finish().digest
    done = command("branch", str(tmp_path / "cut.save"), "--set", "link.gw.rate=1Mbps", "--json", "--quiet")
    assert f'"digest":"{ours.digest}"' in done.stdout, done.stderr
    branch.save(tmp_path / "branch.save")
    assert p.load(tmp_path / "branch.save").finish().digest == ours.digest


def test_folders_are_repeated(sites: p.Network, tmp_path) -> None:
    run = p.run(sites)
    run.write(tmp_path / "run")
    again, differences = p.rerun(tmp_path / "run", engine="window", threads=2)
    assert (again.digest, differences) == (run.digest, [])
    assert p.diff(tmp_path / "run", sites).same
    with pytest.raises(p.InputError, match="has the results of another run"):
        run.write(tmp_path / "run")
    run.write(tmp_path / "run", overwrite=True)


def test_two_networks_part_at_their_first_different_event(sites: p.Network) -> None:
    other = p.Network.from_dict(sites.to_dict())
    other.document["link"][0]["delay"] = "11ms"
    found = p.diff(sites, other)
    assert found and found.events > 0
    assert all(found.lines)
    assert "diverge" in str(found)


def test_threads_of_python_run_at_once(sites: p.Network) -> None:
    digests = [p.run(sites, seed=seed).digest for seed in range(8)]
    found: dict[int, str] = {}

    def work(seed: int) -> None:
        found[seed] = p.run(sites, seed=seed).digest

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[seed] for seed in range(8)] == digests


def test_threads_of_python_read_one_run(sites: p.Network) -> None:
    run = p.run(sites)
    rows = run.table("flows").to_dict()
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(run.table("flows").to_dict() == rows)) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 8


def test_a_trace_is_that_of_the_command(sites: p.Network, tmp_path) -> None:
    (tmp_path / "net.toml").write_text(sites.to_toml())
    words = ("--trace", str(tmp_path / "t.txt"), "--trace-lps", "gw-west", "--trace-before", "200ms")
    by_command(str(tmp_path / "net.toml"), *words)
    lines = (tmp_path / "t.txt").read_text().splitlines()
    assert len(lines) > 100
    assert list(p.trace(sites, lps="gw-west", before="200ms")) == lines
    events = p.trace("phold", until="1000000s")
    assert next(events) != next(events)
    del events
    with pytest.raises(p.InputError, match="wets"):
        next(p.trace(sites, lps="wets.0"))


def test_why_ends_in_the_event_asked_for(sites: p.Network) -> None:
    chain = p.why(sites, "east.0:1s")
    assert chain.is_whole
    assert chain.events[-1]["lp_name"] == "east.0"
    assert str(chain).count("\n") >= len(chain.events)


def test_a_frozen_program_starts_itself(tmp_path) -> None:
    program, app = tmp_path / "program.py", tmp_path / "app"
    program.write_text(f"""
import sys
sys.frozen, sys.executable = True, {str(app)!r}
import parades as p
p.serve_if_frozen()
alone = p.run("phold", until="5s", engine="sequential")
print(p.run("phold", until="5s", engine="window", threads=1, processes=2).digest == alone.digest)
print(p.sweep("phold", until="5s", seeds=[1], jobs=1).runs()["digest"] == [alone.digest])
""")
    app.write_text(f'#!/bin/sh\nexec {sys.executable} {program} "$@"\n')
    app.chmod(0o755)
    done = subprocess.run([app], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.split() == ["True", "True"], done.stderr


def test_a_process_that_was_forked_after_runs_has_runs(sites: p.Network) -> None:
    digest = p.run(sites, engine="window", threads=2).digest
    child = os.fork()
    if child == 0:
        os._exit(0 if p.run(sites, engine="window", threads=2).digest == digest else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_a_network_may_change_or_go_while_it_is_run(sites: p.Network) -> None:
    digest = p.run(sites).digest
    nets, found = [p.Network.from_dict(sites.to_dict()) for _ in range(4)], []
    running = threading.Barrier(5)

    def work() -> None:
        net = nets.pop()
        running.wait()
        found.append(p.run(net, progress=lambda _: net.document.clear()).digest)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    running.wait()
    gc.collect()
    for thread in threads:
        thread.join()
    assert found == [digest] * 4
    cut = p.start(sites).advance("1s")
    sites.document.clear()
    del sites
    gc.collect()
    assert cut.finish().digest == digest


def leaves_no_memory_behind(sites: p.Network, runs: int) -> None:
    def some(count: int) -> None:
        for seed in range(count):
            p.run(sites, seed=seed, until="50ms").table("flows").to_dict()
            p.start(sites, seed=seed).advance("10ms").branch(seed=2).advance("20ms")

    some(50)
    before, files = held_mb(), len(os.listdir("/proc/self/fd"))
    some(runs)
    assert held_mb() - before < 10
    assert len(os.listdir("/proc/self/fd")) == files


def test_many_runs_leave_no_memory_behind(sites: p.Network) -> None:
    leaves_no_memory_behind(sites, 100)


@pytest.mark.at_length
def test_a_thousand_runs_leave_no_memory_behind_at_length(sites: p.Network) -> None:
    leaves_no_memory_behind(sites, 1000)
