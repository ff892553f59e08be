"""The garbage collector rests during a compile only, and is as it was afterwards, errors and threads included."""

import gc
import os
import threading

import pytest
import torch

import pellucid
from pellucid.runtime import collector, frontend
from pellucid.runtime.collector import resting


@pytest.fixture(autouse=True)
def _enabled():
    yield
    assert gc.isenabled()


def test_it_rests_while_a_call_compiles(monkeypatch):
    seen = []
    capture = frontend.capture_call

    def watched(*args):
        seen.append(gc.isenabled())
        return capture(*args)
    monkeypatch.setattr(frontend, "capture_call", watched)
    c = pellucid.compile(lambda x: x + 1, backend="eager")
    c(torch.ones(2))
    assert seen == [False] and gc.isenabled()


def test_after_an_error_and_nested():
    with pytest.raises(ZeroDivisionError), resting(), resting():
        assert not gc.isenabled()
        raise ZeroDivisionError
    assert gc.isenabled()


def test_a_program_that_disabled_it_keeps_it_disabled():
    gc.disable()
    try:
        with resting():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_overlapping_threads():
    first, second = threading.Event(), threading.Event()

    def other():
        with resting():
            first.set()
            second.wait(10)
    t = threading.Thread(target=other)
    t.start()
    first.wait(10)
    with resting():
        assert not gc.isenabled()
    assert not gc.isenabled(), "the other thread still compiles"
    second.set()
    t.join()
    assert gc.isenabled()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_forked_during_a_compile_collects():
    with resting():
        pid = os.fork()
        if pid == 0:
            os._exit(0 if gc.isenabled() and collector._depth == 0 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
