"""Checks that stubs, types and documentation agree with the package."""

import ast
import contextlib
import doctest
import inspect
import io
import re
import subprocess
import sys
from pathlib import Path

import pytest

import wearwell as ww
from wearwell import _core

ROOT = Path(__file__).parents[2]
STUBS = ast.parse((ROOT / "python/wearwell/_core.pyi").read_text())


def own_names(thing):
    special = {"__iter__", "__next__", "__len__", "__new__"}
    return {name for name in vars(thing) if not name.startswith("_") or name in special}


def stub_parameters(function):
    """Return each parameter of a stub: its name, and whether it is keyword-only and has a default."""
    arguments = function.args
    required = len(arguments.args) - len(arguments.defaults)
    positional = [(each.arg, False, at >= required) for at, each in enumerate(arguments.args)]
    keywords = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return positional + [(each.arg, True, default is not None) for each, default in keywords]


def test_stubs_name_every_function():
    definitions = (ast.FunctionDef, ast.ClassDef)
    named = {node.name: node for node in STUBS.body if isinstance(node, definitions)}
    exported = {name for name in dir(_core) if not name.startswith("__")}
    assert exported == set(named)
    for name, node in named.items():
        if isinstance(node, ast.ClassDef):
            methods = {child.name for child in node.body if isinstance(child, ast.FunctionDef)}
            assert methods == own_names(getattr(_core, name)) - ({"__new__"} - methods), name
        else:
            compiled = inspect.signature(getattr(_core, name)).parameters.values()
            assert stub_parameters(node) == [
                (each.name, each.kind is each.KEYWORD_ONLY, each.default is not each.empty) for each in compiled
            ], name


def test_everything_public_is_documented_and_listed():
    public = {name for name in vars(ww) if not name.startswith("_")}
    modules = {"device", "result", "scenario", "timing"}
    assert public - modules == set(ww.__all__) - {"__version__"}
    for name in ww.__all__:
        thing = getattr(ww, name)
        assert isinstance(thing, str) or inspect.getdoc(thing), name


def test_types():
    pytest.importorskip("mypy")
    run = subprocess.run([sys.executable, "-m", "mypy"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("module", [ww, ww.scenario], ids=["wearwell", "wearwell.scenario"])
def test_examples_in_docstrings(module):
    assert doctest.testmod(module).failed == 0


BLOCK = re.compile(
    r"^(?P<mark><!-- printed -->\n)?```(?P<language>python|text)\n(?P<lines>.*?)^```", re.MULTILINE | re.DOTALL
)
DOCUMENTS = sorted(
    path.relative_to(ROOT).as_posix()
    for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    if "```python\n" in path.read_text()
)


def test_there_are_documents_with_programs():
    assert {"docs/python.md", "docs/traces.md", "docs/tutorial.md", "docs/how-to/operator.md"} <= set(DOCUMENTS)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_the_programs_of_the_documents_run(document, tmp_path, monkeypatch):
    """Run the blocks of a document as one program, in a copy of the repository.

    A block of text below `<!-- printed -->` is the expected output of the block in front of it.
    """
    pytest.importorskip("matplotlib").use("Agg")
    monkeypatch.chdir(tmp_path)
    for name in ("docs", "scenarios", "traces"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "my-trace.csv").write_text("ts,type,lba,len\n0,W,0,4096\n5,R,8,4096\n")
    path = ROOT / document
    text = path.read_text()
    names = {"__name__": "tutorial", "wearwell": ww}
    printed = io.StringIO()
    for block in BLOCK.finditer(text):
        line = text[: block.start("lines")].count("\n")
        if block["language"] == "python":
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile("\n" * line + block["lines"], path, "exec"), names)
        elif block["mark"]:
            lines = [said.rstrip() for said in printed.getvalue().splitlines()]
            assert lines == block["lines"].splitlines(), f"{document}:{line}"
