"""The event record: append-only, counted exactly, bounded, subscribable; the logs select by name."""

import pytest

from pellucid.events.logs import UnknownLog, line, selected
from pellucid.events.record import Record
from pellucid.events.types import Cause, UserFrame


def test_events_are_numbered_and_filtered():
    r = Record()
    r.emit("graph_break", callable_id=1, message="a")
    r.emit("recompile", callable_id=2, message="b", entries=3)
    assert [e.number for e in r.events()] == [0, 1]
    assert [e.message for e in r.events("recompile")] == ["b"]
    assert r.events(callable_id=2)[0].data["entries"] == 3
    with pytest.raises(ValueError, match="unknown event kind 'nonsense'"):
        r.emit("nonsense")


def test_counts_survive_the_bound():
    r = Record(capacity=2)
    for _ in range(5):
        r.emit("kernel")
    assert len(r.events()) == 2 and r.count("kernel") == 5


def test_subscribers_hear_until_they_leave():
    r, heard = Record(), []
    leave = r.subscribe(heard.append)
    r.emit("notice", message="one")
    leave()
    r.emit("notice", message="two")
    assert [e.message for e in heard] == ["one"]


def test_logs_select_kinds_and_refuse_unknown_names():
    assert selected("graph_breaks, +guards") == {"graph_break", "guard"}
    assert "kernel" in selected("all")
    with pytest.raises(UnknownLog, match="unknown log 'graphbreaks'"):
        selected("graphbreaks")


def test_a_line_names_the_users_place():
    e = Record().emit("graph_break", callable_id=3, message="print", cause=Cause("print", (UserFrame("m.py", 7, "f"),)))
    assert line(e) == "[graph_break callable=3] print  [m.py:7 in f]"
