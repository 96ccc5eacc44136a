"""Which way imports point, and what the package never does."""

import ast
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

import dragoman

PACKAGE = Path(dragoman.__file__).parent
FILES = sorted(path for path in PACKAGE.rglob("*.py"))
# A file imports from its own folder and from what stands above it here, never from below.
ORDER = [
    {"contracts", "errors", "complaints", "seeds", "config", "devices", "scripts", "storage", "watching", "drawing"},
    {"metrics"},
    {"data"},
    {"nn"},
    {"frontends"},
    {"encoders"},
    {"decoders"},
    {"heads"},
    {"models"},
    {"objectives"},
    {"regimes"},
    {"search"},
    {"runs"},
    {"baselines"},
    {"weights"},
    {"served"},
    {"engines"},
    {"pipeline"},
    {"similarity"},
    {"evaluation"},
    {"inspection"},
    {"training"},
    {"preparation"},
    {"defaults"},
    {"experiment"},
    {"recipes"},
    {"catalogue"},
    {"comparison"},
    {"export"},
    {"doctor"},
    {"cli"},
]
RANK = {name: rank for rank, names in enumerate(ORDER) for name in names}
DOORS = ("__init__", "__main__")  # the package's own, which may open on everything


def name_of(path: Path) -> str:
    """The folder or file directly inside the package."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative import"
            assert node.module is not None
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_upwards(path: Path) -> None:
    own = name_of(path)
    if own in DOORS:
        return
    for name in imported(ast.parse(path.read_text("utf-8"))):
        parts = name.split(".")
        if parts[0] != "dragoman" or parts[1] == own:
            continue
        assert parts[1] in RANK, f"{parts[1]} is missing from the order"
        assert RANK[parts[1]] <= RANK[own], f"{own} imports {name}"


def test_the_order_is_complete() -> None:
    assert {name_of(path) for path in FILES} - set(DOORS) == set(RANK)


def called(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_nothing_from_outside_is_executed(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    modules = {name.split(".")[0] for name in imported(tree)}
    assert modules.isdisjoint({"pickle", "marshal", "shelve", "dill", "cloudpickle", "jinja2", "importlib_resources"})
    assert "importlib.import_module" not in imported(tree)
    forbidden = {
        "eval",
        "exec",
        "compile",
        "__import__",
        "torch.load",
        "os.system",
        "os.popen",
        "numpy.load",
        "np.load",
    }
    assert forbidden.isdisjoint(called(tree))
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg == "shell"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_one_file_names_a_device(path: Path) -> None:
    """Help texts aside, which list what may be given."""
    if path.name == "devices.py":
        return
    with path.open("rb") as file:
        words = [token.string for token in tokenize.tokenize(file.readline) if token.type != tokenize.COMMENT]
    assert [word for word in words if "cuda" in word and "cuda:N" not in word] == []


@pytest.mark.parametrize(
    "code",
    [
        "import dragoman",
        "import sys; sys.argv = ['dragoman', '--help']\nfrom dragoman.cli.main import app\napp(standalone_mode=False)",
    ],
    ids=["import dragoman", "dragoman --help"],
)
def test_torch_is_not_imported_before_it_is_used(code: str) -> None:
    found = "{'torch', 'tokenizers', 'sacrebleu'} & set(sys.modules)"
    check = f"{code}\nimport sys\nsys.exit(str(heavy) if (heavy := {found}) else 0)"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
