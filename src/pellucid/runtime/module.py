"""What compile() returns for an nn.Module: a module that shares the original's state and calls it compiled.

The wrapper's class is made for it alone: a subclass of CompiledModule and of the module's own class, so isinstance,
methods and properties work; and its instance dictionary *is* the original's, so parameters, buffers, submodules, hooks,
mode and attributes are the same whichever of the two is used, and state_dict has no prefix.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
from collections.abc import Callable
from typing import Any

from torch import nn

from ..options import Options
from ..torchdoor.modules import GLOBAL_HOOKS, HOOKS, has_hooks
from .compiled import Compiled
from .fastpath import install
from .native.vectorcall import make_room
from .target import Target, target

_PREFIX = "_orig_mod."


class CompiledModule(nn.Module):
    """Base of all compiled modules. `__wrapped__` (and torch.compile's name, `_orig_mod`) is the original."""

    __pellucid__: Compiled
    __wrapped__: nn.Module

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Nothing: the user's hook is for classes that the user makes."""

    @property
    def _orig_mod(self) -> nn.Module:
        return type(self).__wrapped__

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        made = module_wrapper(copy.deepcopy(type(self).__wrapped__, memo), type(self).__pellucid__.options)
        memo[id(self)] = made
        return made

    def __copy__(self) -> Any:
        return module_wrapper(copy.copy(type(self).__wrapped__), type(self).__pellucid__.options)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return module_wrapper, (type(self).__wrapped__, type(self).__pellucid__.options)

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any, **kwargs: Any) -> None:
        """Keys as torch.compile writes them (with `_orig_mod.`) load as well."""
        old = prefix + _PREFIX
        for key in [k for k in state_dict if k.startswith(old)]:
            state_dict[prefix + key[len(old):]] = state_dict.pop(key)
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)


class _Forward:
    """The wrapper's `forward`: the compiled one, whatever `forward` the shared dictionary holds; setting it sets the
    original's."""

    def __init__(self, module: nn.Module, call: Callable[..., Any]):
        self.module = module

        def forward(*args: Any, **kwargs: Any) -> Any:
            return call(*args, **kwargs)
        self.forward = functools.update_wrapper(forward, module.forward)

    def __get__(self, instance: Any, owner: type) -> Any:
        return self if instance is None else self.forward

    def __set__(self, instance: Any, value: Any) -> None:
        self.module.__dict__["forward"] = value

    def __delete__(self, instance: Any) -> None:
        del self.module.__dict__["forward"]


def module_wrapper(module: nn.Module, options: Options) -> CompiledModule:
    """The compiled module for `module`."""
    if options.buckets:
        return _bucketed(module, options)
    cls, state = type(module), module.__dict__
    compiled = Compiled(_target(module), options)
    compiled.original = module
    class_forward, own_forward = cls.forward, state.get("forward")

    def forward_now() -> Compiled:
        """The tables, emptied if the module's forward was replaced since."""
        nonlocal class_forward, own_forward
        if cls.forward is not class_forward or state.get("forward") is not own_forward:
            class_forward, own_forward = cls.forward, state.get("forward")
            compiled.retarget(_target(module))
        return compiled

    def call(*args: Any, **kwargs: Any) -> Any:
        return forward_now().call(*args, **kwargs)

    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:
        """With hooks on the module itself torch's own call runs them around the compiled forward."""
        if has_hooks(state):
            return nn.Module.__call__(self, *args, **kwargs)
        return forward_now().call(*args, **kwargs)

    made_class = type(cls.__name__, (CompiledModule, cls), {
        "__call__": __call__, "forward": _Forward(module, call), "__pellucid__": compiled, "__wrapped__": module,
        "__module__": cls.__module__, "__qualname__": cls.__qualname__, "__doc__": cls.__doc__})
    make_room(made_class)
    made: CompiledModule = object.__new__(made_class)
    object.__setattr__(made, "__dict__", state)
    install(compiled, made, functools.partial(__call__, made),
            lambda w: _watch(w, module, class_forward, own_forward))
    return made


def _bucketed(module: nn.Module, options: Options) -> CompiledModule:
    from .buckets import Bucketed

    plain = module_wrapper(module, dataclasses.replace(options, buckets=()))
    state, cls, forward, own = module.__dict__, type(module), type(module).forward, module.__dict__.get("forward")
    front = Bucketed(_target(module), options, plain,
                     lambda: not has_hooks(state) and cls.forward is forward and state.get("forward") is own)
    made_class = type(cls.__name__, (type(plain),), {
        "__call__": staticmethod(front.call), "__pellucid__": front.compiled, "__module__": cls.__module__,
        "__qualname__": cls.__qualname__, "__doc__": cls.__doc__})
    made: CompiledModule = object.__new__(made_class)
    object.__setattr__(made, "__dict__", state)
    return made


def _watch(w: Any, module: nn.Module, class_forward: Any, own_forward: Any) -> None:
    """What must be unchanged for a native call to stand for `__call__`: no hooks, and the forward that was compiled."""
    from ..torchdoor.symbols import Unavailable
    from .native.state import ABSENT, state_words_for_dict, state_words_for_type, watch_key

    state = module.__dict__
    if has_hooks(state) or type(module).forward is not class_forward or state.get("forward") is not own_forward:
        raise Unavailable("the module has hooks, or its forward was replaced")
    own = state_words_for_dict(w, module)
    for name in HOOKS:
        watch_key(w, own, name)
        state_words_for_dict(w, state[name]).used = 0
    for hooks in GLOBAL_HOOKS:
        state_words_for_dict(w, hooks).used = 0
    watch_key(w, own, "forward", None if "forward" in state else ABSENT)
    state_words_for_type(w, type(module))


def _target(module: nn.Module) -> Target:
    made = target(module.forward)
    return dataclasses.replace(made, name=type(module).__qualname__)
