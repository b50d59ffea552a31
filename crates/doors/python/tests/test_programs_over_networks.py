"""Messages of programs as packets of a network, and as flows on a platform."""

from __future__ import annotations

from pathlib import Path

import parades as p
import programs
import pytest


@pytest.fixture
def platform(tmp_path) -> Path:
    path = tmp_path / "two.xml"
    path.write_text(programs.PLATFORM)
    return path


def test_a_packet_takes_the_time_of_its_links() -> None:
    lines = [line for line in p.trace(programs.one_way) if not line.startswith(" ")]
    assert any("right" in line for line in lines)
    run = p.run(programs.one_way)
    # 1000 bytes with the IP header: 2 * (1 + 10) ms. The report is back after two links of 20 bytes.
    assert [row["packets"] for row in run.table("links")] == [1, 1]
    assert p.run(programs.one_way, until="22ms").events < p.run(programs.one_way, until="22001us").events
    assert p.run(programs.one_way, until="42040us").events < p.run(programs.one_way, until="42041us").events
    assert p.run(programs.one_way, until="42041us").events == run.events


def test_engines_and_processes_have_one_answer() -> None:
    alone = p.run(programs.questions, engine="sequential")
    assert alone.metrics["answered"] > 1000 and alone.metrics["messages_failed"] > 100
    for how in (
        dict(engine="rounds", threads=2),
        dict(engine="window", threads=2),
        dict(engine="null-message", threads=2),
        dict(engine="window", processes=2, threads=1),
    ):
        other = p.run(programs.questions, **how)
        assert (other.digest, other.metrics) == (alone.digest, alone.metrics), how
    assert p.run(programs.questions, bytes=100).metrics["messages_failed"] < alone.metrics["messages_failed"]


def test_sweeps_and_cuts_have_the_network_too() -> None:
    swept = p.sweep(programs.questions, until="500ms", seeds=[1, 2], jobs=2)
    assert swept.failures == 0, swept.first_failure
    assert swept.runs()["digest"][0] == p.run(programs.questions, until="500ms").digest
    cut = p.start(programs.questions, until="500ms").advance("200ms")
    assert cut.finish().digest == swept.runs()["digest"][0]
    with pytest.raises(p.InputError, match="nothing can change in the middle of the run"):
        cut.branch(seed=2)


def test_nodes_on_a_platform_compute_and_send(platform: Path) -> None:
    program = p.program(over=platform, until="10s")(programs.work)
    run = p.run(program)
    # The shorter computation has half of the host for 2 s. 10 MB take 1 s and 1 ms.
    assert p.run(program, until="4001ms").events < p.run(program, until="4001001us").events == run.events
    for engine in ("rounds", "window"):
        assert p.run(program, engine=engine, threads=2).digest == run.digest


def too_large(node: p.Node):
    yield from node.deliver(1, None, bytes=65_516)


def sized(node: p.Node):
    node.send(0, None, bytes=10)
    yield from node.sleep(1)


def computing(node: p.Node):
    yield from node.compute(1e9)


def lost_name(node: p.Node):
    node.number("nowhere")
    yield from node.sleep(1)


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (p.program(over=programs.line())(too_large), "65516 bytes does not fit into a packet"),
        (p.program(nodes=2)(sized), "the size of a message has no effect here"),
        (p.program(over=programs.line())(computing), "only a node on a platform computes"),
        (p.program(over=programs.line())(lost_name), "no node of the program is at `nowhere`"),
        (p.program(nodes=2)(lost_name), "no node of the program is at `nowhere`"),
    ],
)
def test_what_a_carrier_cannot_do_ends_the_run(program: p.Program, message: str) -> None:
    with pytest.raises(p.SimulationError, match=message):
        p.run(program)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: p.program()(sized), "the program has no node"),
        (lambda: p.program(over=programs.line(), nodes=3)(sized), "nodes of a network have names"),
        (
            lambda: p.run(p.program(over=programs.line(), nodes=["lfet"])(sized)),
            "the network has no node `lfet`",
        ),
        (
            lambda: p.run(p.program(over=programs.line(), latency="1ms")(sized)),
            "it has no effect over a network",
        ),
        (lambda: p.run(p.program(over=programs.line())(sized), loss=0.1), "it has no effect over a network"),
        (lambda: p.run(p.program(over="/nowhere.toml")(sized)), "cannot be read"),
        (lambda: p.run(p.program(over="/nowhere.xml")(sized)), "nowhere.xml"),
        (
            lambda: p.run(p.program(over=programs.line().tcp("bulk", "left", "right", size="1MB"))(sized)),
            "under a program, a network has no traffic of its own",
        ),
        (lambda: p.run(p.program(over=programs.line().link("left", "x"))(sized)), r"network.toml:\d+:\d+"),
        (lambda: p.run("python", program="x.py:y", places="a"), "x.py"),
    ],
)
def test_wrong_networks_are_refused_in_one_sentence(call, message: str) -> None:
    with pytest.raises(p.InputError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
