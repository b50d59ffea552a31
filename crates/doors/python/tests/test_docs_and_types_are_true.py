"""Docstrings, the tutorial and the notebook are executed; types are checked."""

from __future__ import annotations

import doctest
import importlib
import os
import pkgutil
import re
import shutil
import subprocess
import sys
from pathlib import Path

import parades
import pytest
from conftest import CLONE

PAGE = CLONE / "docs/python.md"
EXAMPLES = CLONE / "crates/doors/python/examples"
NOTEBOOK = CLONE / "docs/python.ipynb"
MODULES = [
    name for _, name, _ in pkgutil.iter_modules(parades.__path__, "parades.") if name != "parades.__main__"
]


@pytest.mark.parametrize("name", ["parades", *MODULES])
def test_examples_of_docstrings(name: str) -> None:
    module = importlib.import_module(name)
    assert doctest.testmod(module).failed == 0


def test_every_public_name_has_a_docstring() -> None:
    assert sorted(parades.__all__) == sorted(set(parades.__all__))
    for name in parades.__all__:
        assert getattr(parades, name).__doc__, name


def programs_of(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)


def test_the_tutorial_runs_as_written(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    programs = programs_of(PAGE)
    assert len(programs) > 5
    names: dict[str, object] = {}
    for program in programs:
        exec(compile(program, str(PAGE), "exec"), names)
    assert (tmp_path / "queues.svg").exists()


def test_the_notebook_runs(tmp_path) -> None:
    nbformat = pytest.importorskip("nbformat")
    client = pytest.importorskip("nbclient")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    client.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert (tmp_path / "aqm.svg").exists()


def checked(*words: str, cwd: Path | None = None) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *words], capture_output=True, text=True, check=False, cwd=cwd
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_wheel_is_built_of_what_was_compiled_for_the_command() -> None:
    cargo = shutil.which("cargo")
    if cargo is None:
        pytest.skip("there is no cargo: this package was not built here")

    def features(*packages: str) -> dict[str, set[str]]:
        """Returns the features of all crates of a build."""
        words = ["tree", "--edges", "normal,build", "--prefix", "none", "--format", "{p}|{f}", "--no-dedupe"]
        words += [word for package in packages for word in ("-p", package)]
        done = subprocess.run([cargo, *words], cwd=CLONE, capture_output=True, text=True, check=True)
        found: dict[str, set[str]] = {}
        for line in done.stdout.splitlines():
            crate, _, features = line.partition("|")
            if crate:
                found.setdefault(crate, set()).add(features)
        return found

    command, wheel = features("parades-cli", "parades"), features("parades-python")
    assert len(command) > 100
    # Cargo compiles a crate again for other features. Cargo.toml has them all.
    assert {crate: wheel[crate] for crate in command} == command


def test_the_stub_is_that_of_the_module() -> None:
    checked("mypy.stubtest", "parades._parades")


def test_the_package_the_tutorial_and_the_examples_have_types(tmp_path) -> None:
    config = ("--config-file", str(Path(__file__).parents[1] / "pyproject.toml"))
    checked("mypy", *config, "-p", "parades", cwd=tmp_path)
    (tmp_path / "tutorial.py").write_text("\n".join(programs_of(PAGE)))
    checked("mypy", *config, "tutorial.py", cwd=tmp_path)
    checked("mypy", *config, *map(str, EXAMPLES.glob("*.py")), cwd=tmp_path)
    assert os.path.exists(Path(parades.__file__).with_name("py.typed"))
