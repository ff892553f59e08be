"""Small models written with traced torch functions."""

import torch
import torch.nn.functional as F


def encoder(layers, width=32, heads=4, length=6, batch=3, inner=64):
    """A BERT-like encoder: (fn(f, x, *parameters), inputs, inputs of another batch)."""
    g = torch.Generator().manual_seed(0)
    parameters = []

    def new(*shape):
        parameters.append(torch.randn(*shape, generator=g) * 0.2)
        return len(parameters) - 1
    sets = [{**{n: (new(width, width), new(width)) for n in "qkvo"}, "up": (new(inner, width), new(inner)),
             "down": (new(width, inner), new(width)), "n1": (new(width), new(width)), "n2": (new(width), new(width))}
            for _ in range(layers)]

    def fn(f, x, *p):
        def linear(name, s, v):
            return f(F.linear, v, p[s[name][0]], p[s[name][1]])

        def split(v):
            return f(torch.transpose, f(torch.reshape, v, (x.shape[0], length, heads, width // heads)), 1, 2)
        for s in sets:
            q, k, v = (split(linear(n, s, x)) for n in "qkv")
            scores = f(torch.div, f(torch.matmul, q, f(torch.transpose, k, -1, -2)), 4.0)
            c = f(torch.matmul, f(torch.softmax, scores, -1), v)
            c = f(torch.reshape, f(torch.transpose, c, 1, 2), (x.shape[0], length, width))
            x = f(F.layer_norm, f(torch.add, linear("o", s, c), x), (width,), p[s["n1"][0]], p[s["n1"][1]])
            h = f(F.gelu, linear("up", s, x))
            x = f(F.layer_norm, f(torch.add, linear("down", s, h), x), (width,), p[s["n2"][0]], p[s["n2"][1]])
        return x
    return (fn, (torch.randn(batch, length, width, generator=g), *parameters),
            (torch.randn(5, length, width, generator=g), *parameters))
