"""A run in Python has the digest, the metrics and the tables of the command."""

from __future__ import annotations

import random

import parades as p
import pytest
from conftest import CLONE, by_command

SCENARIOS = [
    ("phold", dict(lps=64), "2s"),
    ("multicast", {}, "100ms"),
    ("mm1", dict(customers=2000, utilisation=0.8), None),
    ("jackson", {}, "1s"),
    ("transfer", {}, "100ms"),
    ("campus", dict(networks=1, traffic="tcp"), "2s"),
    ("wan", {}, "100ms"),
    ("chord", dict(nodes=50), "5s"),
    ("gossip", {}, "2s"),
    ("averaging", {}, "2s"),
]


@pytest.mark.parametrize(("name", "parameters", "until"), SCENARIOS)
def test_scenarios(name: str, parameters: dict, until: str | None) -> None:
    words = [word for key, value in parameters.items() for word in ("--set", f"{key}={value}")]
    theirs = by_command(name, *words, *(["--until", until] if until else []), "--seed", "3")
    ours = p.run(name, until=until, seed=3, **parameters)
    assert (ours.digest, ours.events) == (theirs["digest"], theirs["events"])
    assert ours.summary["metrics"] == theirs["metrics"]


FILES = sorted((CLONE / "crates/networks/netfile/examples").glob("*.toml"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_network_files(file) -> None:
    theirs = by_command(str(file), "--until", "2s")
    for ours in (p.run(file, until="2s"), p.run(p.Network.from_toml(file), until="2s")):
        assert ours.digest == theirs["digest"]
        assert ours.summary["metrics"] == theirs["metrics"]


def drawn(seed: int) -> p.Network:
    """Returns a random network."""
    rng = random.Random(seed)
    net = p.Network(f"network {seed}", until="1s", routing=rng.choice(["delay", "hops"]))
    names = [f"n{index}" for index in range(rng.randint(2, 12))]
    net.nodes(*names)
    for index, name in enumerate(names[1:], 1):
        queue = rng.choice([20, "64KiB", p.CoDel(), p.Red(limit=50), p.FqCoDel(), p.DropTail(10)])
        rate, delay = f"{rng.randint(1, 50)}Mbps", f"{rng.randint(1, 20)}ms"
        net.link(
            names[rng.randrange(index)], name, rate=rate, delay=delay, queue=queue, loss=rng.choice([0, 0.01])
        )
    for index in range(rng.randint(1, 4)):
        a, b = rng.sample(names, 2)
        congestion = rng.choice(["cubic", "bbr", "newreno"])
        if rng.random() < 0.5:
            net.tcp(f"app{index}", a, b, size=f"{rng.randint(1, 300)}kB", congestion=congestion)
        else:
            net.constant(f"app{index}", a, b, rate=f"{rng.randint(1, 20)}00kbps")
    return net


def random_networks_are_equal(seeds: range, folder) -> None:
    for seed in seeds:
        net = drawn(seed)
        ours = p.run(net)
        file = folder / "net.toml"
        file.write_text(net.to_toml())
        theirs = by_command(str(file))
        assert (theirs["digest"], theirs["metrics"]) == (ours.digest, ours.summary["metrics"]), net.to_toml()


def test_random_networks(tmp_path) -> None:
    random_networks_are_equal(range(20), tmp_path)


@pytest.mark.at_length
def test_random_networks_at_length(tmp_path) -> None:
    random_networks_are_equal(range(1000), tmp_path)


def test_a_table_has_the_columns_of_the_command(sites: p.Network) -> None:
    run = p.run(sites)
    rows = run.summary["metrics"]["flows"]
    table = run.table("flows")
    assert table.columns == list(rows[0])
    assert [dict(row) for row in table] == rows
    assert list(table.to_pandas().columns) == table.columns
    assert table.to_polars().to_dicts() == rows
