"""Every command and program of docs/guide/slower-after-compile.md runs, and the example ends faster than it began."""

import re
import shlex
import sys
import warnings
from pathlib import Path

import pytest
from click.testing import CliRunner

from pellucid.cli import main

GUIDE = (Path(__file__).parents[2] / "docs" / "guide" / "slower-after-compile.md").read_text()
BLOCKS = re.findall(r"^```(python|console)\n(.*?)^```", GUIDE, re.M | re.S)


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """Outputs of all blocks, in order, run in one folder."""
    folder = tmp_path_factory.mktemp("guide")
    out, patch = [], pytest.MonkeyPatch()
    patch.chdir(folder)
    patch.syspath_prepend(str(folder))
    for kind, text in BLOCKS:
        if kind == "console":
            for line in text.splitlines():
                words = shlex.split(line.removeprefix("$ "))
                assert words[0] == "pellucid"
                r = CliRunner().invoke(main, words[1:])
                assert r.exit_code == 0, (line, r.output)
                out.append((line, r.output))
        elif text.startswith("# file: "):
            Path(text.splitlines()[0].removeprefix("# file: ")).write_text(text)
        else:
            space = {"__name__": "guide"}
            with warnings.catch_warnings():         # the mark is known where the plugin is installed
                warnings.simplefilter("ignore", pytest.PytestUnknownMarkWarning)
                exec(compile(text, "guide", "exec"), space)
            out.append(("run", space))
    yield dict(out[:-1][::-1]), [o for n, o in out if n == "run"], folder
    patch.undo()
    for name in ("slow", "fast"):
        sys.modules.pop(name, None)


def output(ran, start):
    return next(text for line, text in ran[0].items() if line.startswith(f"$ pellucid {start}"))


def test_the_diagnosis_finds_both_breaks_and_writes_both_edits(ran):
    told = output(ran, "diagnose")
    assert "cause: item-in-condition" in told and "cause: print" in told and "story: break" in told
    assert "torch.where(h.sum() > 0, h * 2, h - 1)" in told and '-    print("scored", name)' in told
    assert "amplifies" in told


def test_the_edited_program_has_no_break_and_the_same_results(ran):
    result = ran[1][0]["result"]
    assert (result.before.breaks, result.after.breaks) == (2, 0)
    assert result.after.compiles < result.before.compiles and result.same.ok
    assert result.ratio is not None and result.ratio.value > 1, "it ends faster"


def test_the_rest(ran):
    assert "agrees with eager" in output(ran, "bench") and ": ok" in output(ran, "check")
    assert (ran[2] / "report.html").stat().st_size < 2_000_000
