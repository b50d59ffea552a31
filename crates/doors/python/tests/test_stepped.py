"""Networks that a program steps."""

from __future__ import annotations

import importlib.util
import signal
import subprocess
import sys
import time
from pathlib import Path

import parades as p
import pytest

EXAMPLE = Path(__file__).parents[1] / "examples" / "vector_env.py"


def two(rate: str = "100Mbps") -> p.Network:
    net = p.Network(defaults=dict(rate=rate, delay="1ms")).nodes("a", "b", "c")
    return net.link("a", "b", name="ab").link("b", "c", name="bc")


def played(stepped: p.Stepped, steps: int = 200, part: str = "1ms") -> list[p.Completion]:
    ends = []
    for number in range(steps):
        if number % 10 == 0:
            stepped.send("ac"[number % 20 // 10], "b", 40_000)
        stepped.advance(part)
        ends += stepped.completions()
    return ends


def test_transfers_of_packets_are_those_of_tcp() -> None:
    stepped = p.step(two())
    transfer = stepped.send("a", "c", 1_000_000)
    stepped.advance("1s")
    [end] = stepped.completions()
    assert (end.transfer, end.begin_s, end.bytes, end.outcome) == (transfer, 0.0, 1_000_000, "done")
    assert 0.08 < end.end_s < 0.2
    assert stepped.completions() == []


@pytest.mark.parametrize("by", ["packets", "flows"])
def test_branches_and_repetitions_have_one_digest(by: str) -> None:
    first, second = p.step(two(), by=by), p.step(two(), by=by)
    assert played(first) == played(second) != []
    assert first.digest == second.digest
    branch = first.branch()
    assert played(branch) == played(first)
    branch.send("a", "b", 5)
    branch.advance("1s")
    first.advance("1s")
    assert branch.digest != first.digest
    assert branch.now_s == first.now_s == pytest.approx(1.4)


def test_engines_have_one_digest() -> None:
    one, other = p.step(two()), p.step(two(), engine="window", threads=2)
    assert played(one) == played(other)
    assert one.digest == other.digest


@pytest.mark.parametrize("by", ["packets", "flows"])
def test_links_change_and_transfers_are_cancelled(by: str) -> None:
    stepped = p.step(two(), by=by)
    stepped.send("a", "b", 1_000_000)
    stepped.set_link("ab", rate="10Mbps")
    stepped.advance("500ms")
    assert stepped.completions() == []  # some 80 ms at the old rate, and 800 ms at the new one
    given_up = stepped.send("b", "c", 10**9)
    stepped.advance("1s")
    stepped.cancel(given_up)
    stepped.advance("1s")
    outcomes = {end.transfer: end.outcome for end in stepped.completions()}
    assert outcomes == {0: "done", given_up: "cancelled"}


def test_mistakes_are_sentences() -> None:
    stepped = p.step(two())
    with pytest.raises(p.InputError, match="destination=x: there is no such node"):
        stepped.send("a", "x", 1)
    with pytest.raises(p.InputError, match="link=x"):
        stepped.set_link("x", up=False)
    with pytest.raises(p.InputError, match="by="):
        stepped.advance("fast")
    with pytest.raises(p.InputError, match="choose packets or flows"):
        p.step(two(), by="pigeons")
    with pytest.raises(p.InputError, match="engine=slow"):
        p.step(two(), engine="slow")
    with pytest.raises(p.SimulationError, match="itself"):
        stepped.send("a", "a", 1)
    with pytest.raises(p.SimulationError, match="no transfer 9"):
        stepped.cancel(9)
    stepped.send("a", "b", 1000)
    stepped.advance("1s")
    assert len(stepped.completions()) == 1  # it goes on after a mistake


def test_ctrl_c_is_answered_in_a_long_step_and_the_network_goes_on() -> None:
    code = (
        "import parades as p\n"
        "net = p.Network(defaults=dict(rate='1Gbps', delay='1ms')).nodes('a', 'b').link('a', 'b')\n"
        "stepped = p.step(net)\n"
        "stepped.send('a', 'b', 10**15)\n"
        "print('begins', flush=True)\n"
        "try: stepped.advance('100000s')\n"
        "except KeyboardInterrupt: pass\n"
        "before = stepped.now_s\n"
        "stepped.advance('1ms')\n"
        "print(0 < before < stepped.now_s < 100000)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    try:
        assert process.communicate(timeout=30)[0] == "True\n"
    finally:
        process.kill()


def test_the_environment_of_gymnasium() -> None:
    pytest.importorskip("gymnasium")
    spec = importlib.util.spec_from_file_location("vector_env", EXAMPLE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def returns(seed: int, route: int) -> list[float]:
        envs = module.Routes(4, steps=50)
        observation, _ = envs.reset(seed=seed)
        assert observation in envs.observation_space
        total, over = 0.0, False
        while not over:
            observation, rewards, _, truncated, _ = envs.step([route] * 4)
            assert observation in envs.observation_space
            total, over = total + rewards, bool(truncated.all())
        return list(total)

    assert returns(1, 0) == returns(1, 0)
    assert sum(returns(1, 0)) > sum(returns(1, 1))  # the slow route cannot carry the load
