"""What is installed: the wheel works outside the source tree, and holds what it should."""

import site
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("hatchling")

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def run(*words: object, folder: Path) -> str:
    """Without this test's PYTHONPATH: dragoman must come from what is installed."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "OMP_NUM_THREADS": "1"}
    command = [str(word) for word in words]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", ROOT, "--no-deps", "--no-build-isolation", "-w", folder, folder=folder)
    [built] = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def programs(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """bin of a new environment with the wheel in it, which sees the packages of this one."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False)
    pip = (sys.executable, "-m", "pip", "--python", folder / "bin/python")
    run(*pip, "install", "--no-deps", "--no-index", wheel, folder=folder)
    [packages] = folder.glob("lib/python3*/site-packages")
    others = [*site.getsitepackages(), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    (packages / "others.pth").write_text("\n".join(dict.fromkeys(others)) + "\n")
    return folder / "bin"


def test_files_of_the_wheel(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    inside = {name for name in names if name.startswith("dragoman/")}
    info = {name.partition("/")[2] for name in names - inside}
    assert info == {"METADATA", "WHEEL", "entry_points.txt", "licenses/LICENSE", "RECORD"}
    source = ROOT / "src" / "dragoman"
    kept = [path for path in source.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert inside == {f"dragoman/{path.relative_to(source).as_posix()}" for path in kept}
    assert {"dragoman/py.typed", "dragoman/recipes/g2p.toml", "dragoman/recipes/translate.toml"} <= inside


def test_it_works_elsewhere(programs: Path, tmp_path: Path) -> None:
    where = run(programs / "python", "-c", "import dragoman; print(dragoman.__file__)", folder=tmp_path)
    assert Path(where.strip()).is_relative_to(programs.parent)
    dragoman = programs / "dragoman"
    assert run(dragoman, "--version", folder=tmp_path) == f"dragoman {PROJECT['version']}\n"
    assert "g2p" in run(dragoman, "recipes", folder=tmp_path)
    assert "nn/attention/additive.py" in run(dragoman, "recipes", "--parts", "attention", folder=tmp_path)
    (tmp_path / "pairs.tsv").write_text("".join(f"{word}\t{' '.join(word)}\n" for word in ("ab", "ba", "abba", "bab")))
    settings = ("--scale", "tiny", "--steps", 3, "--out", "run", "training.threads=1", "training.device=cpu")
    run(dragoman, "train", "g2p", "pairs.tsv", *settings, folder=tmp_path)
    answer = run(programs / "python", "-m", "dragoman", "predict", "run", "pairs.tsv", "--json", folder=tmp_path)
    assert answer.count('"source"') == 4


def test_a_source_distribution_can_be_built_from(tmp_path: Path) -> None:
    code = f"import hatchling.build as b; print(b.build_sdist({str(tmp_path)!r}))"
    made = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    with tarfile.open(tmp_path / made.stdout.split()[-1]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
        archive.extractall(tmp_path, filter="data")
    assert {"pyproject.toml", "README.md", "LICENSE", "src/dragoman/recipes/g2p.toml", "src/dragoman/py.typed"} <= names
    assert not [name for name in names if name.startswith(("tests", "docs", "benchmarks"))]
    [unpacked] = [path for path in tmp_path.iterdir() if path.is_dir()]
    code = f"import hatchling.build as b; print(b.build_wheel({str(tmp_path)!r}))"
    subprocess.run([sys.executable, "-c", code], cwd=unpacked, capture_output=True, check=True)
    assert len(list(tmp_path.glob("*.whl"))) == 1


def test_what_it_says_of_itself() -> None:
    assert PROJECT["requires-python"] == ">=3.11"
    assert PROJECT["license"] == "Apache-2.0"
    versions = {f"Programming Language :: Python :: 3.{minor}" for minor in (11, 12, 13, 14)}
    assert versions | {"Typing :: Typed"} <= set(PROJECT["classifiers"])
