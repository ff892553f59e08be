def make():
    def f(x, n, s):
        d = {(1, 'k'): n, 'b': len(s), None: x}
        return d, d[(1, 'k')], list(d)
    return f
