"""Files that a run writes while it is executed are those of the command."""

from __future__ import annotations

import json
from pathlib import Path

import parades as p
import pytest
from conftest import by_command


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def of_events(folder: Path) -> p.Outputs:
    """Returns all outputs without wall times, in a folder."""
    return p.Outputs(
        pcap=folder / "pcap",
        pcap_at=["gw", "east.0"],
        pcap_ip=6,
        pcap_snap="96B",
        samples=folder / "samples",
        samples_limit=500,
        trace=folder / "trace.txt",
        trace_lps="gw-*",
        trace_from="100ms",
        trace_before="1500ms",
    )


def test_files_are_those_of_the_command(sites: p.Network, tmp_path) -> None:
    file, ours, theirs = tmp_path / "net.toml", tmp_path / "ours", tmp_path / "theirs"
    file.write_text(sites.to_toml())
    ours.mkdir()
    theirs.mkdir()
    words = "--pcap-at gw --pcap-at east.0 --pcap-ip 6 --pcap-snap 96B --samples-limit 500 --trace-lps gw-*"
    words += f" --pcap {theirs}/pcap --samples {theirs}/samples --trace {theirs}/trace.txt"
    by_command(str(file), *words.split(), "--trace-from", "100ms", "--trace-before", "1500ms")
    for engine, threads in (("sequential", 1), ("window", 2)):
        p.run(sites, engine=engine, threads=threads, outputs=of_events(ours))
        assert contents(ours) == contents(theirs)
        for sample in (ours / "samples").iterdir():
            sample.unlink()
    assert {"pcap/gw.pcapng", "pcap/east.0.pcapng", "trace.txt"} <= contents(theirs).keys()


def test_samples_are_read(sites: p.Network, tmp_path) -> None:
    run = p.run(sites, outputs=p.Outputs(samples=tmp_path))
    durations = run.samples("completion_bulk")
    assert durations.columns == ["time_s", "lp", "flow", "completion_bulk_s"]
    assert len(durations) == run.metrics["completion_bulk_s.count"] == 4
    mean = sum(durations["completion_bulk_s"]) / len(durations)
    assert mean == pytest.approx(run.metrics["completion_bulk_s.mean"], rel=1e-9)
    assert durations["time_s"] == sorted(durations["time_s"])
    assert durations["lp"][0].startswith("east.")
    with pytest.raises(p.InputError, match="has no samples"):
        run.samples("flows")
    with pytest.raises(p.InputError, match=r"outputs=Outputs\(samples="):
        p.run(sites).samples("completion_bulk")


def test_files_go_on_from_cut_to_cut(sites: p.Network, tmp_path) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    whole.mkdir()
    broken.mkdir()
    digest = p.run(sites, outputs=of_events(whole)).digest
    cut = p.start(sites, outputs=of_events(broken)).advance("700ms").with_engine("window", threads=2)
    assert cut.advance("1s").finish().digest == digest
    assert contents(broken) == contents(whole)


def test_files_of_a_run_that_the_command_saved_go_on(sites: p.Network, tmp_path) -> None:
    file, folder = tmp_path / "net.toml", tmp_path / "samples"
    file.write_text(sites.to_toml())
    by_command(str(file), "--until", "1s", "--save", f"{tmp_path}/x.save", "--samples", str(folder))
    finished = p.load(tmp_path / "x.save").finish(until="3s")
    assert len(finished.samples("completion_bulk")) == 4
    p.run(sites, outputs=p.Outputs(samples=tmp_path / "whole"))
    assert contents(folder) == contents(tmp_path / "whole")


def test_timelines_rounds_and_profiles(sites: p.Network, tmp_path) -> None:
    outputs = p.Outputs(
        timeline=tmp_path / "t.json", rounds=tmp_path / "rounds.csv", profile=True, trace_before="0s"
    )
    run = p.run(sites, engine="rounds", threads=2, outputs=outputs)
    assert json.loads((tmp_path / "t.json").read_text())
    assert (tmp_path / "rounds.csv").read_text().count("\n") > 100
    assert sum(row["events"] for row in run.profile["handlers"]) == run.events
    assert "profile" in run.report()
    assert p.run(sites).profile is None


def test_a_folder_of_results_has_its_trace(sites: p.Network, tmp_path) -> None:
    outputs = p.Outputs(out=tmp_path / "run", out_trace=True)
    run = p.run(sites, outputs=outputs)
    assert (tmp_path / "run/trace.txt").read_text().splitlines() == list(p.trace(sites))
    assert p.rerun(tmp_path / "run")[0].digest == run.digest
    with pytest.raises(p.InputError, match="has the results of another run"):
        p.run(sites, outputs=outputs)


def test_files_of_a_failed_run_are_removed(tmp_path) -> None:
    with pytest.raises(p.SimulationError):
        p.run("faulty", fault="fail", outputs=p.Outputs(trace=tmp_path / "trace.txt"))
    assert list(tmp_path.iterdir()) == []


def test_a_run_is_saved_before_its_failure(tmp_path) -> None:
    saving = p.Saving(tmp_path / "x.save", every_virtual="1ms", before_failure=True)
    with pytest.raises(p.SimulationError) as caught:
        p.run("faulty", fault="fail", save=saving)
    cut = p.load(tmp_path / "x.save")
    assert 0 < cut.time_s <= caught.value.time_s
    with pytest.raises(p.SimulationError) as again:
        cut.finish()
    assert (again.value.lp, again.value.time_s) == (caught.value.lp, caught.value.time_s)


def test_a_run_is_made_longer_until_its_interval_is_narrow() -> None:
    words = ("mm1", "--set", "utilisation=0.5", "--set", "customers=5000")
    theirs = by_command(*words, "--metric", "sojourn", "--until-interval", "5%")
    ours = p.run("mm1", utilisation=0.5, customers=5000, metrics=["sojourn"], until_interval=0.05)
    assert (ours.digest, ours.virtual_time_s) == (theirs["digest"], theirs["virtual_time_s"])
    mean, half = ours.metrics["sojourn_s.mean"], ours.metrics["sojourn_s.half_width_95"]
    assert half <= 0.05 * mean


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: p.Outputs(pcap_at="gw"), r"pcap_at=\['gw'\]: it has no effect alone; name pcap too"),
        (lambda: p.Outputs(trace_from="1s", samples="x"), "name trace, timeline or out_trace too"),
        (lambda: p.Outputs(copy_inputs=True), "name out too"),
        (lambda: p.Outputs(trace="x", overwrite=True), "name out or samples too"),
        (lambda: p.Outputs(samples="x", samples_limit=-1), "samples_limit=-1"),
        (lambda: p.run("network", outputs=p.Outputs(pcap="x", pcap_ip=5)), "pcap_ip=5: the versions are"),
        (lambda: p.run("network", outputs=p.Outputs(pcap="x", pcap_snap="0B")), "pcap_snap=0B: write a size"),
        (lambda: p.run("network", outputs=p.Outputs(trace="x", trace_from="1")), "trace_from=1"),
        (lambda: p.run("faulty", outputs=p.Outputs(samples="samples")), "no samples to write"),
        (lambda: p.run("phold", outputs=p.Outputs(pcap="pcap")), "no packets to capture"),
        (lambda: p.run("phold", engine="window", outputs=p.Outputs(rounds="r.csv")), "rounds"),
        (lambda: p.run("phold", save=p.Saving("x.save", every="soon")), "every=soon"),
        (
            lambda: p.run("phold", save=p.Saving("x.save", before_failure=True)),
            "keeps the last of several saves",
        ),
        (lambda: p.run("mm1", until_interval=0.01), "needs a metric"),
        (lambda: p.run("mm1", metrics=["sojourn"]), "give `until_interval` too"),
        (lambda: p.run("mm1", metrics=["sojourn"], until_interval=0), "no share above 0"),
        (lambda: p.run("mm1", metrics=["sojurn"], until_interval=0.1), "sojurn"),
    ],
)
def test_wishes_without_effect_are_refused(call, message: str, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(p.InputError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
