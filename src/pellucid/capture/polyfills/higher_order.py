"""Torch's functions that take functions, said in plain Python: what they compute, call by call."""

import torch


def cond(pred, true_fn, false_fn, operands=()):
    return true_fn(*operands) if pred else false_fn(*operands)


def while_loop(cond_fn, body_fn, carried_inputs):
    carried = tuple(carried_inputs)
    while cond_fn(*carried):
        carried = tuple(body_fn(*carried))
    return carried


def _leaves(tree):
    if isinstance(tree, dict):
        return [x for k in tree for x in _leaves(tree[k])]
    if isinstance(tree, (list, tuple)):
        return [x for item in tree for x in _leaves(item)]
    return [tree]


def _again(tree, leaves):
    """The tree with its leaves from the iterator."""
    if isinstance(tree, dict):
        return {k: _again(tree[k], leaves) for k in tree}
    if isinstance(tree, (list, tuple)):
        return type(tree)([_again(item, leaves) for item in tree])
    return next(leaves)


def associative_scan(combine_fn, xs, dim, reverse=False, combine_mode="pointwise"):
    leaves = _leaves(xs)
    length = leaves[0].shape[dim]
    state = None
    kept = []
    for i in range(length - 1, -1, -1) if reverse else range(length):
        x = _again(xs, iter([t.select(dim, i) for t in leaves]))
        state = x if state is None else combine_fn(state, x)
        kept.append(_leaves(state))
    if reverse:
        kept.reverse()
    return _again(xs, iter([torch.stack([k[j] for k in kept]).movedim(0, dim) for j in range(len(leaves))]))


def checkpoint_without_gradients(function, *args, **kwargs):
    return function(*args, **kwargs)


def module_to_same(module, device, dtype, original, args, kwargs):
    """nn.Module.to where all parameters and buffers are as asked for already: the module itself, nothing changed."""
    for t in [*module.parameters(), *module.buffers()]:
        if (device is not None and t.device != device) or (
                dtype is not None and t.dtype != dtype and (t.is_floating_point() or t.is_complex())):
            return original(module, *args, **kwargs)
    return module
