def make():
    def f(x, n, s):
        found = set(s) ^ {1, 2, 9}

        class Between:
            k = max(3, n)

        return list(found), found, x + Between.k
    return f
