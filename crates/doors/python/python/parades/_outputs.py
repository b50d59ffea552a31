"""The files that a run writes while it is executed."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from ._words import duration, refused, time, whole

Path = str | os.PathLike[str]


@dataclass(frozen=True, kw_only=True)
class Outputs:
    """The files that a run writes while it is executed, as the options of `parades run` have them.

    The files are the same on every engine, but for wall times. After Ctrl-C they have the run so far. Those
    of a run that fails are removed.

    >>> import parades as p, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = p.run("mm1", customers=100, outputs=p.Outputs(samples=folder))
    ...     run.samples("sojourn").columns
    ['time_s', 'lp', 'flow', 'sojourn_s']

    Attributes:
        pcap: A folder for captures: a pcapng file for each place, for Wireshark, tshark, scapy and others.
        pcap_at: The nodes and links that are captured. Default: each node where a flow begins or ends.
        pcap_ip: The version of IP in captures, 4 or 6. Default: that of the network.
        pcap_snap: The greatest length of a captured packet, with a unit: `"96B"`. Default: whole packets.
        samples: A folder for samples: a CSV file for each metric that measures values one by one.
            `Run.samples` reads them.
        samples_limit: The greatest number of rows of each file of samples.
        timeline: A JSON file for ui.perfetto.dev: events, messages, and the work of each worker.
        trace: A text file of the executed events in their one order. `trace` iterates over them without one.
        trace_lps: The logical processes of the trace and the timeline: `"3"`, `"10..=20"`, `"east.*"`.
            Default: all.
        trace_from: The virtual time from which they have events, with a unit. Default: the start.
        trace_before: The virtual time before which they have events, with a unit. Default: the end.
        rounds: A CSV file of the rounds of the engine `rounds`.
        profile: True if `Run.profile` says where the wall time went.
        out: A folder for all results. `Run.write` writes the same after the run.
        out_trace: True if the trace goes into that folder, where `diff` finds it.
        copy_inputs: True if the files that the run reads are copied into that folder.
        overwrite: True if the results may replace those of another run in `out` and `samples`.

    Raises:
        InputError: If a value has no effect, since the file that it is about is not asked for.
    """

    pcap: Path | None = None
    pcap_at: str | Iterable[str] = ()
    pcap_ip: int | str | None = None
    pcap_snap: str | None = None
    samples: Path | None = None
    samples_limit: int = 1_000_000
    timeline: Path | None = None
    trace: Path | None = None
    trace_lps: str | None = None
    trace_from: str | timedelta | None = None
    trace_before: str | timedelta | None = None
    rounds: Path | None = None
    profile: bool = False
    out: Path | None = None
    out_trace: bool = False
    copy_inputs: bool = False
    overwrite: bool = False

    def __post_init__(self) -> None:
        def read(name: str, value: object) -> None:
            object.__setattr__(self, name, value)

        read("pcap_at", [self.pcap_at] if isinstance(self.pcap_at, str) else list(self.pcap_at))
        read("pcap_ip", None if self.pcap_ip is None else str(self.pcap_ip))
        read("samples_limit", whole("samples_limit", self.samples_limit))
        read("trace_from", time("trace_from", self.trace_from))
        read("trace_before", time("trace_before", self.trace_before))
        needs = {
            "pcap": ("pcap_at", "pcap_ip", "pcap_snap"),
            "trace, timeline or out_trace": ("trace_lps", "trace_from", "trace_before"),
            "out": ("out_trace", "copy_inputs"),
            "out or samples": ("overwrite",),
        }
        for files, names in needs.items():
            if not any(getattr(self, file) for file in files.replace(" or ", ", ").split(", ")):
                for name in names:
                    if (value := getattr(self, name)) not in (None, False, []):
                        raise refused(f"{name}={value!r}", "it has no effect alone", f"name {files} too")


@dataclass(frozen=True)
class Saving:
    """The file in which a run is saved, and when. `load` goes on from it.

    Attributes:
        file: The file.
        every: The wall time after which the run is saved each time, with a unit: `"10min"`.
        every_virtual: The virtual time after which the run is saved each time, with a unit.
        when: A condition: `"sojourn > 20ms"`. The file keeps the last save before it was found to be true.
        before_failure: True if the file keeps the last save before an error of the run.
    """

    file: Path
    every: str | timedelta | None = None
    every_virtual: str | timedelta | None = None
    when: str | None = None
    before_failure: bool = False
    #: The virtual time at which the run is saved and stops. `Cut.advance` uses it.
    stop_at: str | None = None

    def __post_init__(self) -> None:
        for name in ("every", "every_virtual"):
            value = getattr(self, name)
            object.__setattr__(self, name, duration(value) if isinstance(value, timedelta) else value)


#: A file in which a run is saved at its end; or when else it is saved.
Save = Path | Saving | None


def saving(save: Save) -> Saving | None:
    """Returns the saves of a run."""
    return save if save is None or isinstance(save, Saving) else Saving(save)


def precision(until_interval: float | None, metrics: Iterable[str]) -> tuple[list[str], float | None]:
    """Returns the metrics of an interval, and its share of their means.

    >>> precision(0.01, ["sojourn"]), precision(None, [])
    ((['sojourn'], 0.01), ([], None))

    Raises:
        InputError: If one of them is missing, or if the share is not above 0.
    """
    names = [metrics] if isinstance(metrics, str) else list(metrics)
    if until_interval is None and names:
        raise refused(f"metrics={names!r}", "it has no effect alone", "give `until_interval` too")
    if until_interval is not None and not names:
        raise refused(
            f"until_interval={until_interval!r}", "it needs a metric", 'write for example metrics=["sojourn"]'
        )
    if until_interval is not None and not 0 < until_interval < float("inf"):
        raise refused(
            f"until_interval={until_interval!r}", "it is no share above 0", "write for example 0.01"
        )
    return names, until_interval
