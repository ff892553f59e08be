"""The planted programs: right story, line and cause, and the edit takes the cause away. `make diagnosis` runs all."""

import pytest

from . import planted

SUBSET = [p for p in planted.all_programs() if p.system != "torch.compile" and not p.timed and p.form == "small"] + [
    p for p in planted.all_programs() if str(p) in (
        "data_branch-realistic-pellucid", "dict_key-realistic-pellucid", "print_in_loop-realistic-pellucid",
        "compile_in_loop-realistic-as-is", "print_in_loop-realistic-torch.compile", "random_branch-small-torch.compile",
        "counter-small-torch.compile", "data_loader-small-as-is", "benchmark-small-as-is")]


def test_there_are_at_least_twenty_causes_in_two_forms_and_half_are_under_torch_compile():
    programs = planted.all_programs()
    assert len({p.name for p in programs}) >= 20
    own = [p for p in programs if p.system != "torch.compile"]
    assert len(own) >= 40 and 2 * sum(p.system == "torch.compile" for p in programs) >= len(own)


@pytest.mark.parametrize("p", SUBSET, ids=str)
def test_the_cause_is_found_and_the_edit_removes_it(p):
    planted.run(p)
    planted.check_edit(p)
