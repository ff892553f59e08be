"""compile()'s arguments: what is accepted, and errors that name argument, value and remedy."""

import pytest

from pellucid.api import compile
from pellucid.errors.types import OptionError, UnsupportedInput
from pellucid.options import parse


def test_defaults():
    o = parse()
    assert (o.fullgraph, o.dynamic, o.backend, o.strict, o.recompile_limit, o.at_limit, o.freeze, o.runner) == \
        (False, None, "llvm", False, 8, "keep", False, "auto")


@pytest.mark.parametrize("arguments,words", [
    ({"dynamic": "yes"}, ["dynamic='yes'", "None"]),
    ({"dynamic": 1}, ["dynamic=1"]),
    ({"fullgraph": None}, ["fullgraph=None", "True or False"]),
    ({"mode": "fast"}, ["mode='fast'", "reduce-overhead"]),
    ({"backend": 3}, ["backend=3", "'llvm'"]),
    ({"options": [1]}, ["options=[1]", "strict"]),
    ({"options": {"strct": True}}, ["'strct'", "True", "did you mean 'strict'", "recompile_limit"]),
    ({"options": {"recompile_limit": 0}}, ["recompile_limit", "0", "at least 1"]),
    ({"options": {"strict": 1}}, ["strict", "1", "True or False"]),
    ({"options": {"at_limit": "explode"}}, ["at_limit", "'explode'", "'keep'"]),
])
def test_bad_arguments_are_named(arguments, words):
    with pytest.raises(OptionError) as e:
        compile(lambda x: x, **arguments)
    for w in words:
        assert w in str(e.value)
    assert isinstance(e.value, ValueError)


def test_an_option_without_effect_says_so():
    with pytest.warns(UserWarning, match="freeze.*no effect yet"):
        parse(options={"freeze": True})


def test_other_backends_get_the_options_they_know():
    o = parse(backend=lambda gm, inputs: gm, options={"theirs": 3, "strict": True})
    assert o.backend_options == {"theirs": 3} and o.strict


@pytest.mark.parametrize("fn,word", [(3, "cannot be called"), (int, "is a class")])
def test_what_cannot_be_compiled(fn, word):
    with pytest.raises(UnsupportedInput, match=word):
        compile(fn)


def test_coroutines_cannot_be_compiled():
    async def f(x):
        return x
    with pytest.raises(UnsupportedInput, match="asynchronous"):
        compile(f)


def test_an_unknown_backend_lists_the_known_ones():
    with pytest.raises(OptionError, match="backend='nonsense'.*llvm, eager"):
        compile(lambda x: x + 1, backend="nonsense")
