"""What several tests use."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import parades as p
import pytest

CLONE = Path(__file__).resolve().parents[4]


def command(*words: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    """Executes the command of the package."""
    return subprocess.run(
        [sys.executable, "-m", "parades", *words],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def by_command(*words: str, stdin: str | None = None) -> dict:
    """Executes `parades run` with these words, and returns the object of `--json`."""
    done = command("run", *words, "--json", "--quiet", stdin=stdin)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def held_mb() -> float:
    """Returns the memory of this process in megabytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


@pytest.fixture
def sites() -> p.Network:
    """Two sites with a bottleneck between them."""
    net = p.Network("two sites", until="3s", defaults=dict(rate="100Mbps", delay="1ms"))
    net.nodes("gw-west", "gw-east")
    net.group("west", 4, attach="gw-west").group("east", 4, attach="gw-east")
    net.link("gw-west", "gw-east", name="gw", rate="10Mbps", delay="10ms", queue=p.CoDel())
    return net.tcp("bulk", "west.*", "east.*", size="500kB", congestion="bbr")
