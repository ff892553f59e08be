"""The verifier of loop programs names the loop and the rule; the text shows both."""

import pytest
import torch

from pellucid.ir.text import to_text
from pellucid.ir.types import Axis, Buffer, Call, Index, Literal, Load, Map, Program, Reduce, View
from pellucid.ir.verify import Malformed, verify

F32, I64 = torch.float32, torch.int64
I, R = Axis(0, 4), Axis(1, 6)
X, Y = Buffer(0, F32, (4, 6), (6, 1), "input", 0), Buffer(1, F32, (4,), (1,))
VX, VY = View(0, F32, (4, 6), (6, 1)), View(1, F32, (4,), (1,))


def program(*loops, buffers=(X, Y), outputs=(VY,)):
    return Program(buffers, loops, (0,) * len(loops), outputs)


GOOD = Reduce(VY, (I,), (R,), "sum", Load(VX, (Index(I), Index(R))), F32)


def test_text_of_a_reduction():
    p = program(GOOD)
    verify(p)
    assert to_text(p).splitlines()[2:] == [
        "reduce i_0<4 over i_1<6: b1[i_0] = sum:f32 b0[i_0*6 + i_1]  # call 0", "return b1:f32[4] strides [1]"]


@pytest.mark.parametrize("loop, message", [
    (Map(VY, (I,), Load(VX, (Index(I), Index(R)))), "outside its loop"),
    (Map(VY, (I,), Load(VY, (Index(I),))), "read before it is written"),
    (Map(VY, (I,), Literal(1, I64)), "int64 is written to torch.float32"),
    (Map(VY, (R,), Literal(1.0, F32)), r"\['6'\] write a view of shape \(4,\)"),
    (Map(VY, (I,), Call("add", (Literal(1.0, F32), Literal(1, I64)), F32)), "different dtypes"),
    (Map(VY, (I,), Call("frobnicate", (), F32)), "unknown scalar function"),
    (Map(VY, (I,), Call("add", (Literal(1.0, F32),), F32)), "takes 2 arguments"),
    (Reduce(VY, (I,), (R,), "mean", Literal(1.0, F32), F32), "unknown combiner 'mean'"),
    (Map(VY, (I,), Load(VX, (Index(I), Index(I)), Literal(True, torch.bool))), "needs an `other`"),
])
def test_what_is_refused(loop, message):
    with pytest.raises(Malformed, match=message):
        verify(program(loop))


def test_an_output_must_be_written():
    with pytest.raises(Malformed, match="never written"):
        verify(program())
