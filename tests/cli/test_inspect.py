"""The commands on a TARGET: what they print, JSON alone on stdout, exit codes for CI, and clear errors."""

import json

import pytest
from click.testing import CliRunner

from pellucid.cli import main

PROGRAM = '''
import torch

def f(x):
    y = torch.tanh(x) * 2
    print("noise")
    return y.sum(-1)

def f_inputs():
    return [(torch.ones(4, 8),)] * 3

def whole(x):
    return torch.tanh(x) * 2

inputs = [(torch.ones(2, 3),)]

def wrong(x):
    return x * 2
'''


@pytest.fixture
def target(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return str(path)


def run(*args):
    return CliRunner().invoke(main, args)


def test_json_is_alone_on_stdout(target):
    r = run("diagnose", f"{target}:f", "--json", "--seconds", "0.02")
    assert r.exit_code == 0, r.output
    told = json.loads(r.stdout)         # what the program prints is not in between
    assert told["schema"] == "pellucid.diagnosis/1" and told["findings"][0]["cause"] == "print"
    assert told["findings"][0]["line"] == 6


def test_explain_and_matrix(target):
    assert "graph break PB103: print()" in run("explain", f"{target}:f").output
    told = run("matrix", f"{target}:whole").output
    assert "5 calls, 2 compiles" in told and "second shape" in told, "one example becomes the standard sequence"
    assert "by torch.compile" in run("matrix", f"{target}:f", "--torch-compile", "--backend", "eager").output


def test_check_fails_with_the_reasons(target):
    assert run("check", f"{target}:f", "--max-breaks", "1", "--max-compiles", "2").exit_code == 0
    r = run("check", f"{target}:f", "--max-breaks", "0")
    assert r.exit_code == 1 and "1 places of breaks, at most 0 allowed" in r.output and "program.py:6" in r.output
    r = run("check", f"{target}:f", "--min-speedup", "1000", "--seconds", "0.02", "--json")
    assert r.exit_code == 1 and "1000" in json.loads(r.stdout)["reasons"][0]
    r = run("check", f"{target}:whole", "--max-cold", "1us", "--seconds", "0.02")
    assert r.exit_code == 1 and "the first call takes" in r.output


def test_a_page_is_written(target, tmp_path):
    page = tmp_path / "page.html"
    r = run("report", f"{target}:f", "--html", str(page), "--seconds", "0.02")
    assert r.exit_code == 0 and page.read_text().startswith("<!doctype html>")


def test_bench_and_profile(target):
    told = run("bench", f"{target}:whole", "--no-fresh", "--seconds", "0.02", "--slo", "1s").output
    assert "times eager's speed" in told and "of calls within" in told
    assert "operators in eager" in run("profile", f"{target}:whole").output


@pytest.mark.parametrize("spec, told", [
    ("nothing.py:f", "there is no file nothing.py"), ("no_such_module:f", "there is no module"),
    ("{t}", "names no callable"), ("{t}:g", "has no 'g'"), ("{t}:inputs", "which cannot be called")])
def test_a_wrong_target(spec, told, target):
    r = run("explain", spec.format(t=target))
    assert r.exit_code == 2 and told in r.output


def test_wrong_options(target):
    assert run("check", f"{target}:f", "--max-cold", "soon").exit_code == 2
    assert run("explain", f"{target}:f", "--as-is", "--torch-compile").exit_code == 2


def test_a_target_without_calls(tmp_path):
    path = tmp_path / "bare.py"
    path.write_text("def f(x):\n    return x\n")
    r = run("explain", f"{path}:f")
    assert r.exit_code == 2 and "def f_inputs():" in r.output
