"""What users forget or mistype in programs and sweeps is named, with its line and the remedy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import parades as p
import programs
import pytest


def python(file: Path, *words: str, cwd: Path | None = None) -> str:
    """Executes a file, and returns what it prints."""
    done = subprocess.run(
        [sys.executable, str(file), *words], capture_output=True, text=True, timeout=120, check=False, cwd=cwd
    )
    return done.stdout + done.stderr


def here(**how):
    return p.program(nodes=2, latency="1ms", until="1s", **how)


async def no_sleep(node: p.Node):
    node.sleep("5ms")


async def no_delivery(node: p.Node):
    node.deliver(1, "x")


async def no_receipt(node: p.Node):
    await node.sleep("1ms")
    node.receive()


async def no_place(node: p.Node):
    p.Resource(1).acquire()
    await node.sleep("1ms")


async def no_end(node: p.Node):
    while True:
        node.sleep("1ms")


async def no_item(node: p.Node):
    store = p.Store()
    while True:
        store.get()


def no_yield(node: p.Node):
    node.sleep("1ms")
    yield from node.sleep("1ms")


@pytest.mark.parametrize(
    ("main", "name", "word"),
    [
        (no_sleep, "sleep", "await"),
        (no_delivery, "deliver", "await"),
        (no_receipt, "receive", "await"),
        (no_place, "acquire", "await"),
        (no_end, "sleep", "await"),
        (no_item, "get", "await"),
        (no_yield, "sleep", "yield from"),
    ],
)
@pytest.mark.parametrize("threads", [1, 2])
def test_a_forgotten_await_ends_the_run_with_its_line(main, name: str, word: str, threads: int) -> None:
    engine = "sequential" if threads == 1 else "window"
    with pytest.raises(p.SimulationError) as caught:
        p.run(here()(main), engine=engine, threads=threads)
    lines = Path(__file__).read_text().splitlines()
    line = next(n for n, text in enumerate(lines, 1) if f"{main.__name__}(node" in text)
    where = next(n for n in range(line + 1, line + 9) if f".{name}(" in lines[n - 1])
    message = f"`{name}` did nothing, since nobody awaits it: write `{word}` before it ({Path(__file__).name}, line {where})"
    assert message in str(caught.value)
    assert p.run(programs.ring, until="100ms").events > 0, "later runs are not stopped"


def test_a_bare_delay_is_no_wait() -> None:
    @here()
    def yields(node: p.Node):
        yield 1.0

    with pytest.raises(p.SimulationError, match="awaited a `float`, which is no wait of parades.*line"):
        p.run(yields)


def test_another_nodes_waits_are_refused() -> None:
    nodes = []

    @here()
    async def receives_for_another(node: p.Node) -> None:
        nodes.append(node)
        await node.sleep("1ms")
        await nodes[1 - node.id].receive()

    with pytest.raises(p.SimulationError, match="used outside of its processes"):
        p.run(receives_for_another)


def test_waits_are_awaited_once_and_later() -> None:
    @here()
    async def twice(node: p.Node) -> None:
        wait = node.sleep("1ms")
        node.state["before"] = node.now_ps
        await wait
        assert node.now_ps == 10**9
        try:
            await wait
        except RuntimeError as error:
            node.state["error"] = str(error)
        assert "awaited twice" in node.state["error"]

    assert p.run(twice).events > 0


def test_an_exception_before_an_await_is_the_one_of_the_run() -> None:
    @here()
    async def divides(node: p.Node) -> None:
        await node.spawn((node.sleep("1ms"), 1 // 0))

    with pytest.raises(p.SimulationError, match="ZeroDivisionError"):
        p.run(divides)


def test_a_yielded_wait_names_yield_from() -> None:
    @here()
    def yields(node: p.Node):
        yield node.sleep("1ms")

    with pytest.raises(p.SimulationError, match="write `yield from` before it instead of `yield` .*line"):
        p.run(yields)


def test_a_sweep_whose_seeds_change_nothing_says_so(sites: p.Network) -> None:
    sites.document["app"][0]["congestion"] = "cubic"  # BBR draws from the seed
    swept = p.sweep(sites, {"link.gw.rate": ["5Mbps", "10Mbps"]}, until="300ms", seeds=[1, 2], jobs=2)
    assert any("every seed has the same results" in note for note in swept.notes)
    assert "every seed has the same results" in swept.report()
    one = p.sweep(sites, {"link.gw.rate": ["5Mbps", "10Mbps"]}, until="300ms", jobs=2)
    drawn = p.sweep("mm1", customers=100, seeds=[1, 2], jobs=2)
    assert not [note for note in one.notes + drawn.notes if "every seed" in note]


def test_arguments_of_a_program_are_swept_as_other_parameters_are() -> None:
    for how in (dict(grid={"fanout": [1, 3]}), dict(fanout=[1, 3])):
        swept = p.sweep(programs.gossip, seeds=[1, 2], until="5s", jobs=2, **how)
        rows = [(row["fanout"], row["seed"], row["digest"]) for row in swept.runs()]
        assert [row[:2] for row in rows] == [(1, 1), (1, 2), (3, 1), (3, 2)]
        for fanout, seed, digest in rows:
            assert p.run(programs.gossip, fanout=fanout, seed=seed, until="5s").digest == digest
    told = [row["mean"] for row in swept.means() if row["metric"] == "told"]
    assert {row["fanout"] for row in swept.means()} == {1, 3} and told[0] < told[1]
    with pytest.raises(p.SimulationError, match="all 2 runs failed.*programs.py, line"):
        p.sweep(programs.gossip, fanout=["a", "b"], until="5s", jobs=2)


@pytest.mark.parametrize(
    "measure", [dict(every="100ms", links="*"), dict(percentiles=False), dict(unfinished="so-far")]
)
def test_a_network_under_a_program_measures_nothing(measure: dict) -> None:
    measured = p.program(over=programs.line().measure(**measure))(programs.one_way.main)
    with pytest.raises(p.InputError, match="measures nothing of its own; leave `measure` out") as caught:
        p.run(measured)
    assert (caught.value.file, caught.value.source_line) == ("network.toml", "[measure]")
    assert p.run(programs.one_way).notes == []


GUARDLESS = """
import sys
import parades as p

@p.program(nodes=2, latency="1ms", until="1s")
async def g(node):
    node.state["helped"] = node.random.random()

print("begun")
p.{call}
"""


@pytest.mark.parametrize(
    "call", ['run(g, processes=2, threads=1, engine="window")', "sweep(g, seeds=[1, 2], jobs=2)"]
)
def test_a_file_without_guard_names_the_guard(call: str, tmp_path: Path) -> None:
    file = tmp_path / "script.py"
    file.write_text(GUARDLESS.replace("{call}", call))
    said = python(file).splitlines()
    assert 'put the runs of the file under `if __name__ == "__main__":`' in said[-1], said


def test_a_saved_program_is_not_run_again_by_being_loaded(tmp_path: Path) -> None:
    file, saved = tmp_path / "script.py", tmp_path / "g.save"
    file.write_text(GUARDLESS.replace("{call}", f"run(g, save={str(saved)!r})"))
    python(file)
    before = saved.stat().st_mtime_ns
    loads = tmp_path / "loads.py"
    loads.write_text(
        f"import parades as p\ntry: p.load({str(saved)!r}).finish()\nexcept p.Error as e: print(e)\n"
    )
    assert '`if __name__ == "__main__":`' in python(loads)
    assert saved.stat().st_mtime_ns == before


def test_a_program_imports_its_neighbours_wherever_it_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "sib").mkdir()
    (tmp_path / "sib/helper_mod.py").write_text("VALUE = 7\n")
    guarded = GUARDLESS.replace("import sys", "import helper_mod, sys").replace(
        'print("begun")', "if __name__ != '__main__': sys = None"
    )
    guarded = (
        guarded.split("if __name__")[0]
        + 'if __name__ == "__main__":\n    print(p.run(g, save="g.save").digest)\n'
    )
    (tmp_path / "sib/model.py").write_text(guarded)
    digest = python(tmp_path / "sib/model.py", cwd=tmp_path / "sib").strip()
    (tmp_path / "loads.py").write_text('import parades as p\nprint(p.load("sib/g.save").finish().digest)\n')
    assert python(tmp_path / "loads.py", cwd=tmp_path).strip() == digest
    words = ("-m", "parades", "run", "python", "--set", f"program={tmp_path}/sib/model.py:g")
    words += ("--set", "underlay=constant", "--set", "latency=1ms", "--until", "1s", "--quiet", "--json")
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False, cwd="/")
    assert f'"digest":"{digest}"' in done.stdout, done.stderr


async def draws(node: p.Node):
    node.random.expovariate("x")


async def uses_asyncio(node: p.Node):
    import asyncio

    await asyncio.sleep(1)


async def goes_back(node: p.Node):
    await node.sleep(-1)


async def has_no_unit(node: p.Node):
    await node.sleep("5 parsec")


async def has_no_place(node: p.Node):
    p.Resource(0)


async def sends_to_half(node: p.Node):
    node.send(1.5, "x")


async def counts_down(node: p.Node):
    node.count("c", -1)


@pytest.mark.parametrize(
    ("main", "message"),
    [
        (draws, "TypeError"),
        (uses_asyncio, "await the waits of the node, such as `node.sleep`"),
        (goes_back, "is no delay"),
        (has_no_unit, "parsec"),
        (has_no_place, "give a whole number from 1 on"),
        (sends_to_half, "1.5 is no number of a node, amount or size: give a whole number from 0 on"),
        (counts_down, "-1 is no number of a node, amount or size"),
    ],
)
def test_an_error_names_the_line_of_the_program(main, message: str) -> None:
    with pytest.raises(p.SimulationError) as caught:
        p.run(here(counters=["c"])(main))
    assert message in str(caught.value)
    line = next(
        n
        for n in range(main.__code__.co_firstlineno + 1, main.__code__.co_firstlineno + 6)
        if any(word in Path(__file__).read_text().splitlines()[n - 1] for word in ("(", "await"))
    )
    assert f"({Path(__file__).name}, line {line})" in str(caught.value)


def test_a_command_that_cannot_work_is_not_advised() -> None:
    @here()
    async def local(node: p.Node) -> None:
        raise ValueError("out")

    with pytest.raises(p.SimulationError, match="ValueError: out") as caught:
        p.run(local)
    assert "reproduce" not in str(caught.value)
    with pytest.raises(p.SimulationError, match="reproduce it with"):
        p.run(programs.raises)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda net: p.run(5), "what=5: this cannot be run; name a scenario"),
        (lambda net: p.run(net, thread=2), "did you mean the option `threads`"),
        (lambda net: p.run(net, sead=3), "did you mean the option `seed`"),
        (
            lambda net: p.run(programs.gossip, fanuot=3),
            "`gossip` takes no such argument; did you mean `fanout`",
        ),
        (
            lambda net: p.run(programs.gossip, wibble=3),
            "`gossip` takes no such argument; it takes `fanout`, and the parameters of `parades show python`",
        ),
        (lambda net: p.run(programs.ring, wibble=3), "`ring` takes no such argument; it takes none, and"),
        (lambda net: p.run(programs.ring, latncy="1ms"), "did you mean `latency`"),
        (lambda net: p.run(programs.ring, program="x.py:y"), "`ring` takes no such argument"),
        (lambda net: p.run(programs.ring, sead=3), "did you mean `seed`"),
        (
            lambda net: p.program(nodes=2, counters="passes")(no_end),
            r"counters='passes': this is one name; write `counters=\['p",
        ),
        (lambda net: p.program(nodes=2, counters=["a"], tallies=["a"])(no_end), "two are called `a`"),
        (
            lambda net: p.sweep(net, {"link.gw.rate": ["1Mbps"]}, seeds=3),
            r"seeds=3: this is one number; write `seeds=\[3",
        ),
        (lambda net: p.sweep(net, {"link.gw.rate": ["1Mbps"]}, seeds="1-3"), "^seeds=1-3: "),
        (lambda net: p.run(net, set={"link.gw.rat": "1Mbps"}), "^link.gw.rat=1Mbps: "),
        (lambda net: p.run(net, progress="yes"), "progress='yes': nobody hears"),
        (lambda net: p.step(net).send("west.0", "east.0", -5), "bytes=-5: "),
        (lambda net: p.compare(net, engine="window"), "engine='window': several engines are compared"),
        (lambda net: p.run(net, until="10ms").series("link_queue_bn"), "is no series .*measure"),
        (lambda net: p.run("mm1", customers=10).histogram("x"), "`kinds` has the metrics"),
        (
            lambda net: p.start(programs.ring).advance("2ms").advance("1ms"),
            "^the run was saved at .*the run cannot go back",
        ),
        (lambda net: p.start(programs.ring).advance("2ms").branch(seed=2), "^the run "),
    ],
)
def test_wrong_words_are_answered_in_words_of_python(call, message: str, sites: p.Network) -> None:
    with pytest.raises(p.InputError, match=message) as caught:
        call(sites)
    assert "/parades-" not in str(caught.value)


def test_a_second_execution_names_the_argument(tmp_path: Path) -> None:
    files = p.Outputs(samples=tmp_path / "samples")
    p.run("mm1", customers=10, outputs=files)
    with pytest.raises(p.InputError, match="`overwrite=True`") as caught:
        p.run("mm1", customers=20, outputs=files)
    assert "--" not in str(caught.value)


def test_an_unknown_metric_names_near_ones() -> None:
    with pytest.raises(KeyError, match=r"there is no metric 'sojourn'; did you mean 'sojourn_s\."):
        p.run("mm1", customers=10).metrics["sojourn"]


async def one_wait(node: p.Node):
    await node.sleep("1ms")


@pytest.mark.parametrize("how", [dict(nodes=2, latency="1ms"), dict(nodes="host.*", over=programs.star())])
def test_a_counter_named_like_a_metric_of_every_program_is_refused(how: dict):
    of_every = list(p.run(p.program(until="1s", **how)(one_wait)).metrics)
    assert "messages_lost" in of_every
    for name in of_every:
        with pytest.raises(p.Error, match=f"every program has a metric `{name}` of its own"):
            p.run(p.program(until="1s", counters=[name], **how)(one_wait))
