"""The pytest plugin: the mark's limits and the fixture, in tests of its own run by pytest."""

import pytest

FILE = '''
import pytest, torch, pellucid

def broken(x):
    y = x * 2
    print("x")
    return y + 1

@pytest.mark.pellucid(max_breaks=0)
def test_breaks():
    pellucid.compile(broken)(torch.ones(2))

@pytest.mark.pellucid(max_breaks=1, max_compiles=2)
def test_within():
    pellucid.compile(broken)(torch.ones(2))

@pytest.mark.pellucid(max_brakes=0)
def test_typing_error():
    pass

def test_block(no_recompile):
    fast = pellucid.compile(lambda x: x + 1)
    fast(torch.ones(2))
    with no_recompile():
        fast(torch.ones(2))

def test_block_fails(no_recompile):
    fast = pellucid.compile(lambda x: x + 1)
    with no_recompile():
        fast(torch.ones(2))

def test_plain():
    pass
'''


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    import os
    import subprocess
    import sys

    path = tmp_path_factory.mktemp("plugin") / "test_it.py"
    path.write_text(FILE)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run([sys.executable, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", "-p",
                           "pellucid.pytest_plugin", str(path)], env=env, capture_output=True, text=True).stdout


@pytest.mark.parametrize("name, result", [
    ("test_breaks", "FAILED"), ("test_within", "PASSED"), ("test_block", "PASSED"), ("test_block_fails", "FAILED"),
    ("test_plain", "PASSED")])
def test_outcomes(outcome, name, result):
    found = [line for line in outcome.splitlines() if line.split("::")[-1].split(" ")[0] == name]
    assert any(line.startswith(result) for line in found), outcome


def test_the_reason_is_told(outcome):
    assert "max_breaks=0, but there were 1" in outcome and "print()" in outcome
    assert "something was compiled in a no_recompile block" in outcome
    assert "max_brakes" in outcome and "it takes max_breaks" in outcome
