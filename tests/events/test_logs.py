"""What each log of PELLUCID_LOGS shows of a program that breaks, recompiles and makes a size symbolic."""

import os
import subprocess
import sys

import pytest
import torch

import pellucid
from pellucid.errors.types import OptionError
from pellucid.events.logs import LOGS, line, selected
from pellucid.events.record import Record, record
from pellucid.events.types import DETAIL, KINDS

SHOWN = {
    "graph": ("4, 8] = softmax(", "return %"),
    "ir": ("map i0_0<4", "reduce "),
    "schedule": ("step 0: ", "arena ", "output 0: "),
    "kernels": ("kernel map_mul_", "parallel "),
    "plan": (" steps, ", " kernels, ", "schedule "),
    "guards": ("x is a tensor float32[4, 8]", "in program"),
    "recompiles": ("x: size 0 was 4, is 5",),
    "dynamic": ("size 0 of x was 4, is 5: symbolic from now on",),
    "graph_breaks": ("the truth of a tensor decides what runs next", "in program"),
}


def program(x, y):
    z = torch.softmax(torch.relu(x) + y, -1)
    if z.sum() > 0:
        return z * 2
    return z


def run():
    pellucid.reset()
    fast = pellucid.compile(program, options={"strict": True})
    with torch.no_grad():
        for n in (4, 5):
            fast(torch.ones(n, 8), torch.ones(n, 8))


@pytest.mark.parametrize("name", SHOWN)
def test_each_log_shows_its_stage(name):
    heard = []
    leave = record.subscribe(heard.append, selected(name))
    try:
        run()
    finally:
        leave()
    text = "\n".join(map(line, heard))
    for part in SHOWN[name]:
        assert part in text, text
    assert {e.kind for e in heard} <= set(LOGS[name])


def test_details_are_made_only_for_subscribers():
    run()
    assert [record.count(kind) for kind in DETAIL] == [0] * len(DETAIL)
    assert all("text" not in e.data for e in record.events())


def test_wanted_follows_the_subscribers():
    r, heard = Record(), []
    leave = r.subscribe(heard.append, ("ir",))
    assert r.wanted("ir") and not r.wanted("guard")
    r.emit("guard")
    r.emit("ir")
    assert [e.kind for e in heard] == ["ir"]
    leave_all = r.subscribe(heard.append)
    assert r.wanted("guard")
    leave_all()
    leave()
    assert not any(map(r.wanted, KINDS))
    with pytest.raises(ValueError, match="unknown event kinds \\['nonsense'\\]"):
        r.subscribe(heard.append, ("nonsense",))


def test_the_variable_selects_in_a_new_process():
    code = ("import torch, pellucid\nwith torch.no_grad(): pellucid.compile(lambda x: x * 2 + 1)(torch.ones(4))")
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                         env={**os.environ, "PELLUCID_LOGS": "kernels,plan"})
    lines = out.stderr.splitlines()
    assert lines[0].startswith("pellucid [kernel callable=1 entry=0] map_") and lines[1].startswith("    kernel map_")
    assert lines[-1].startswith("pellucid [plan callable=1 entry=0] 1 steps, 1 kernels")


def test_the_runner_variable_is_checked_when_compiling(monkeypatch):
    monkeypatch.setenv("PELLUCID_RUNNER", "nativ")
    with pytest.raises(OptionError, match="PELLUCID_RUNNER='nativ'(.|\n)*'auto', 'native', 'reference'"):
        pellucid.compile(program)


def test_the_runner_variable_chooses(monkeypatch):
    monkeypatch.setenv("PELLUCID_RUNNER", "reference")
    run()
    assert {e.data["runner"] for e in record.events("plan")} == {"reference"}
    assert pellucid.counters()["internal_error_count"] == 0
