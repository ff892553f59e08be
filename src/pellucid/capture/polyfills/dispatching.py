"""functools.singledispatchmethod without its cache with weak keys."""

import functools


def single_dispatch_method(self, obj, cls=None):
    dispatch = self.dispatcher.dispatch
    name = getattr(self.func, "__name__", "singledispatchmethod method")

    def method(*args, **kwargs):
        if not args:
            raise TypeError(f"{name} requires at least 1 positional argument")
        return dispatch(args[0].__class__).__get__(obj, cls)(*args, **kwargs)

    method.register = self.register
    functools.update_wrapper(method, self.func)
    return method
