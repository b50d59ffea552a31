"""Programs whose processes are written in Python: one answer, and what happens when something goes wrong."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import parades as p
import programs
import pytest
from conftest import command, held_mb

ENGINES = ("sequential", "rounds", "window", "null-message")


@pytest.mark.parametrize("name", ["ring", "gossip", "mm1", "generators", "values", "parts"])
def test_engines_have_one_answer(name: str) -> None:
    program = getattr(programs, name)
    until = {"ring": "500ms", "mm1": "200s"}.get(name)
    alone = p.run(program, engine="sequential", until=until)
    for engine in ENGINES[1:]:
        other = p.run(program, engine=engine, until=until, threads=2)
        assert (other.digest, other.events, other.metrics) == (alone.digest, alone.events, alone.metrics), (
            engine
        )


@pytest.mark.parametrize("name", ["ring", "gossip", "mm1", "values"])
def test_processes_have_one_answer(name: str) -> None:
    program = getattr(programs, name)
    until = {"ring": "500ms", "mm1": "200s"}.get(name)
    alone = p.run(program, engine="sequential", until=until)
    for engine in ("window", "null-message"):
        for processes in (2, 3):
            several = p.run(program, engine=engine, processes=processes, threads=1, until=until)
            assert (several.digest, several.metrics) == (alone.digest, alone.metrics), (engine, processes)


def test_programs_compute_what_they_say() -> None:
    assert p.run(programs.ring, until="1s").metrics["passes"] == 999
    sojourn = p.run(programs.mm1, load=0.5, until="20000s").metrics["sojourn_s.mean"]
    assert 1.8 < sojourn < 2.2  # 1 / (1 - 0.5) by theory
    heard = p.run(programs.gossip).metrics
    assert heard["told"] > 100 and heard["heard_s.count"] > 60  # nodes that come back hear it again


def test_seeds_and_arguments_change_the_answer() -> None:
    first = p.run(programs.gossip, until="10s")
    assert first.digest == p.run(programs.gossip, until="10s", fanout=2).digest
    assert first.digest != p.run(programs.gossip, until="10s", fanout=3).digest
    assert first.digest != p.run(programs.gossip, until="10s", seed=2).digest
    assert first.digest != p.run(programs.gossip, until="10s", latency="30ms").digest


def test_runs_are_saved_and_go_on_by_being_repeated(tmp_path) -> None:
    whole = p.run(programs.ring, until="500ms")
    cut = p.start(programs.ring, until="500ms").advance("200ms").advance("300ms")
    cut.save(tmp_path / "ring.save")
    for later in (cut, cut.with_engine("window", threads=2), p.load(tmp_path / "ring.save")):
        assert later.finish().digest == whole.digest
    for change in (dict(latency="2ms"), dict(seed=2)):
        with pytest.raises(p.InputError, match="nothing can change in the middle of the run"):
            cut.branch(**change)


def test_time_warp_is_refused() -> None:
    with pytest.raises(p.InputError, match="time-warp"):
        p.run(programs.ring, engine="time-warp")


def test_the_command_and_sweeps_run_programs(tmp_path) -> None:
    digest = p.run(programs.ring, until="100ms").digest
    file = str(Path(programs.__file__))
    sets = ("--set", f"program={file}:ring", "--set", "underlay=constant", "--set", "latency=1ms")
    done = command(
        "run",
        "python",
        *sets,
        "--until",
        "100ms",
        "--engine",
        "window",
        "--threads",
        "1",
        "--json",
        "--quiet",
    )
    assert f'"digest":"{digest}"' in done.stdout, done.stderr


def test_places_of_a_resource_are_neither_lost_nor_made() -> None:
    @p.program(nodes=1, until="60s")
    async def shares(node: p.Node) -> None:
        server = p.Resource(2)
        served: list[str] = []

        async def uses(name: str, priority: float = 0, within: float | None = None) -> bool:
            if not await server.acquire(priority, within):
                return False
            served.append(name)
            await node.sleep(10)
            server.release()
            return True

        first, second = node.spawn(uses("first")), node.spawn(uses("second"))
        last, late = node.spawn(uses("last", 2)), node.spawn(uses("late", 1, 3))
        killed, urgent = node.spawn(uses("killed", -2)), node.spawn(uses("urgent", -1))
        await node.sleep(1)
        assert (server.count, server.queue_length, server.capacity) == (2, 4, 2)
        killed.kill()
        await node.sleep(1)
        assert server.queue_length == 3
        first.kill()  # it has a place, and keeps it: it has no `finally`
        assert await late is False and node.now == 3.0
        assert [await second, await urgent, await last] == [True] * 3
        assert served == ["first", "second", "urgent", "last"] and node.now == 30.0
        assert (server.count, server.queue_length) == (1, 0)
        try:
            await first
        except p.Killed:
            node.state["killed"] = True
        async with server:
            assert server.count == 2
        server.release()
        try:
            server.release()
        except RuntimeError as error:
            node.state["error"] = str(error)

    assert p.run(shares).digest == p.run(shares, engine="window").digest


def test_a_killed_process_gives_back_what_it_was_given_meanwhile() -> None:
    @p.program(nodes=1, until="60s")
    async def kills(node: p.Node) -> None:
        server = p.Resource()

        async def uses() -> None:
            async with server:
                await node.sleep(1)

        await server.acquire()
        waits, other = node.spawn(uses()), node.spawn(uses())
        await node.sleep(1)
        server.release()  # `waits` is given the place, and killed before it goes on
        waits.kill()
        await other
        assert (node.now, server.count) == (2.0, 0)
        node.state["done"] = True

    assert p.run(kills).events > 0


@pytest.mark.parametrize("what", ["set", "object"])
def test_other_messages_are_refused_by_name(what: str) -> None:
    with pytest.raises(p.SimulationError, match=f"`{what}` has no canonical form") as caught:
        p.run(programs.sends, sort=what)
    assert "programs.py, line" in str(caught.value)


def test_equal_values_have_one_form() -> None:
    from parades import _parades

    assert (
        list(_parades.canonical({"b": 1, "a": 2})) == list(_parades.canonical({"a": 2, "b": 1})) == ["a", "b"]
    )
    deep: list = []
    for _ in range(200):
        deep = [deep]
    with pytest.raises(ValueError, match="lists in lists"):
        _parades.canonical(deep)


@pytest.mark.parametrize("processes", [1, 2])
def test_an_exception_ends_the_run_with_its_node_and_line(processes: int) -> None:
    with pytest.raises(p.SimulationError, match="ValueError: the cat is out .programs.py, line") as caught:
        p.run(programs.raises, engine="window", threads=1, processes=processes)
    assert (caught.value.lp, caught.value.time_s) == (3, 0.01)
    if processes == 1:
        assert isinstance(caught.value.__cause__, ValueError)


def test_a_variable_that_nodes_share_is_named_as_the_cause() -> None:
    with pytest.raises(p.SimulationError, match="outside of their node"):
        p.compare(programs.leaks, engines=["sequential", "window"], threads=1)


def test_a_node_is_used_by_its_own_processes_alone() -> None:
    kept = []

    @p.program(nodes=2, latency="1ms", until="1s")
    async def keeps(node):
        kept.append(node)
        await node.sleep("1ms")
        kept[1 - node.id].send(0, 1)

    with pytest.raises(p.SimulationError, match="used outside of its processes"):
        p.run(keeps)
    with pytest.raises(RuntimeError, match="used outside of its processes"):
        kept[0].send(1, 1)


def test_a_node_crashes_and_comes_back() -> None:
    run = p.run(programs.crashes)
    assert run.metrics["messages_lost"] == 1
    assert run.digest == p.run(programs.crashes, engine="window", processes=2, threads=1).digest


def test_a_function_may_say_what_the_digest_has() -> None:
    def digest(value: int, other: int) -> str | None:
        @p.program(nodes=2, latency="1ms", until="1s")
        async def folds(node):
            node.state["other"] = other
            node.fold = lambda: [value]

        return p.run(folds).digest

    assert digest(1, 1) == digest(1, 2) != digest(2, 2)


def of_number(number: int) -> p.Program:
    """Returns one of several programs of the same name."""

    @p.program(nodes=2, latency="1ms", until="1s")
    async def local(node: p.Node) -> None:
        for _ in range(10):
            await node.sleep("1ms")
            node.state["number"] = number

    return local


def test_programs_of_one_name_are_told_apart() -> None:
    digests = [p.run(of_number(number)).digest for number in range(4)]
    assert len(set(digests)) == 4
    cuts = [p.start(of_number(number)) for number in range(4)]
    later = [cut.advance("5ms") for cut in cuts]
    traces = [p.trace(of_number(number)) for number in range(2)]
    gc.collect()
    assert [cut.finish().digest for cut in cuts] == digests
    assert [cut.finish().digest for cut in later] == digests
    assert all(list(trace) for trace in traces)
    found: dict[int, str | None] = {}

    def work(number: int) -> None:
        for _ in range(5):
            found[number] = p.run(of_number(number)).digest
            assert found[number] == digests[number]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == dict(enumerate(digests))


def test_many_runs_of_programs_leave_no_memory_behind() -> None:
    def some(count: int) -> None:
        for seed in range(count):
            p.run(programs.gossip, seed=seed, until="2s")
            p.run(programs.mm1, seed=seed, until="20s")
            with pytest.raises(p.SimulationError):
                p.run(programs.raises)

    some(20)
    gc.collect()
    before, objects = held_mb(), len(gc.get_objects())
    some(100)
    gc.collect()
    assert held_mb() - before < 10
    assert len(gc.get_objects()) - objects < 1000


def test_sweeps_run_programs_in_other_processes() -> None:
    swept = p.sweep(
        programs.gossip, {"latency": ["10ms", "20ms"]}, seeds=[1, 2], until="5s", fanout=3, jobs=2
    )
    assert swept.failures == 0
    for row in swept.runs():
        latency = {0.01: "10ms", 0.02: "20ms"}.get(row["latency"], row["latency"])
        alone = p.run(programs.gossip, latency=latency, seed=row["seed"], until="5s", fanout=3)
        assert alone.digest == row["digest"]


def test_mistakes_are_errors_of_the_input() -> None:
    @p.program(nodes=2, latency="1ms", until="1s")
    async def local(node):
        pass

    with pytest.raises(p.InputError, match="cannot import the program `local`"):
        p.run(local, processes=2)
    done = command("run", "python", "--set", "program=nothing.py:ring")
    assert done.returncode == 2 and "no file `nothing.py`" in done.stderr

    with pytest.raises(p.InputError, match="`seed` of `grows` is an option"):

        @p.program(nodes=2)
        async def grows(node, seed=1):
            pass

    @p.program(nodes=2, latency="1ms", until="1s")
    async def waits_for_asyncio(node):
        import asyncio

        await asyncio.sleep(1)

    with pytest.raises(p.SimulationError, match="no running event loop|no wait of parades"):
        p.run(waits_for_asyncio)

    @p.program(nodes=2, latency="1ms", until="1s")
    async def keeps_a_set(node):
        node.state["seen"] = {1}

    with pytest.raises(p.SimulationError, match="states of 2 nodes.*`set` has no canonical form"):
        p.run(keeps_a_set)


def interrupted(name: str, *options: str) -> str:
    """Runs a program in a process of its own, presses Ctrl-C, and returns what it prints."""
    code = (
        "import parades as p, programs\n"
        "print('begins', flush=True)\n"
        f"try: p.run(programs.{name}, {', '.join(options)})\n"
        "except p.Stopped as stopped: print('stopped', stopped.run is not None)\n"
        "except KeyboardInterrupt: print('interrupted')\n"
        "except p.SimulationError as error: print('error', error)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    try:
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    return out + err


@pytest.mark.parametrize(
    "options", [(), ("engine='window'", "processes=2", "threads=1"), ("engine='window'", "threads=2")]
)
def test_ctrl_c_stops_a_program_with_its_results(options: tuple[str, ...]) -> None:
    assert interrupted("endless", *options) == "stopped True\n"


@pytest.mark.parametrize("options", [(), ("engine='window'", "processes=2", "threads=1")])
def test_ctrl_c_ends_a_process_that_never_waits(options: tuple[str, ...]) -> None:
    assert interrupted("stuck", *options).startswith(("error", "stopped", "interrupted"))


def test_a_killed_worker_ends_the_run() -> None:
    with pytest.raises(p.SimulationError, match="rank 1|process"):
        p.run(programs.dies, engine="window", processes=2, threads=1, parent=os.getpid())
