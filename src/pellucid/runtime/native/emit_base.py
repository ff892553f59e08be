"""What all emitted code shares: the outside functions by their C signatures, and small helpers written once."""

from __future__ import annotations

from ...torchdoor.fresh import EMPTY_STRIDED, WRAP, FreshLayout
from ...torchdoor.layout import INLINE_DIMS, Layout
from .builder import F32, F64, I1, I8, I16, I32, I64, PTR, UNLIKELY, VOID, Callee, Function, Module, Value

PYTHON = {
    "Py_IncRef": (VOID, [PTR]), "Py_DecRef": (VOID, [PTR]), "PyTuple_New": (PTR, [I64]), "PyList_New": (PTR, [I64]),
    "PyDict_New": (PTR, []), "PyDict_SetItem": (I32, [PTR, PTR, PTR]),
    "PyErr_SetString": (VOID, [PTR, PTR]), "PyErr_SetObject": (VOID, [PTR, PTR]), "PyErr_Occurred": (PTR, []),
    "PyErr_Clear": (VOID, []),
    "PyObject_Vectorcall": (PTR, [PTR, PTR, I64, PTR]), "PyLong_AsLongLongAndOverflow": (I64, [PTR, PTR]),
    "PyLong_FromLongLong": (PTR, [I64]), "PyEval_SaveThread": (PTR, []), "PyEval_RestoreThread": (VOID, [PTR]),
    "PyType_IsSubtype": (I32, [PTR, PTR]), "PyObject_IsTrue": (I32, [PTR]),
    "PyUnicode_FromString": (PTR, [PTR]), "PyUnicode_Compare": (I32, [PTR, PTR]),
    "_PyDict_GetItem_KnownHash": (PTR, [PTR, PTR, I64]), "PyDict_Next": (I32, [PTR, PTR, PTR, PTR]),
    "PyDict_DelItem": (I32, [PTR, PTR]),
    "_PyObject_GetDictPtr": (PTR, [PTR]),
}
LIBC = {
    "memcpy": (PTR, [PTR, PTR, I64]), "malloc": (PTR, [I64]), "strdup": (PTR, [PTR]), "free": (VOID, [PTR]),
    "posix_memalign": (I32, [PTR, I64, I64]), "pthread_getspecific": (PTR, [I32]),
    "pthread_setspecific": (I32, [I32, PTR]),
}
SHIM = {
    "aoti_torch_create_tensor_from_blob": (I32, [PTR, I64, PTR, PTR, I64, I32, I32, I32, PTR]),
    "aoti_torch_delete_tensor_object": (I32, [PTR]), "aoti_torch_copy_": (I32, [PTR, PTR, I32]),
    "aoti_torch_get_data_ptr": (I32, [PTR, PTR]),
}
OPENMP = {"GOMP_parallel": (VOID, [PTR, PTR, I32, I32]), "omp_get_thread_num": (I32, []),
          "omp_get_num_threads": (I32, [])}
TORCH = {
    "empty_strided": (EMPTY_STRIDED, VOID, ["ptr sret(ptr)", PTR, I64, PTR, I64, "i16 signext", "i1 zeroext"], True),
    "wrap": (WRAP, PTR, [PTR], True),
    # THPVariable_Wrap(const at::TensorBase&)
    "wrap_shared": ("_Z16THPVariable_WrapRKN2at10TensorBaseE", PTR, [PTR], True),
    # at::_ops::as_strided::call(const Tensor&, SymIntArrayRef, SymIntArrayRef, optional<SymInt>)
    "as_strided": ("_ZN2at4_ops10as_strided4callERKNS_6TensorEN3c108ArrayRefINS5_6SymIntEEES8_St8optionalIS7_E",
                   VOID, ["ptr sret(ptr)", PTR, PTR, I64, PTR, I64, PTR], True),
    # at::_ops::copy_::call(Tensor&, const Tensor&, bool)
    "copy_": ("_ZN2at4_ops5copy_4callERNS_6TensorERKS2_b", PTR, [PTR, PTR, "i1 zeroext"], True),
    # torch::autograd::impl::bump_version(const at::Tensor&)
    "bump_version": ("_ZN5torch8autograd4impl12bump_versionERKN2at6TensorE", VOID, [PTR], True),
    "memory_profiling": ("_ZN3c1022memoryProfilingEnabledEv", "zeroext i1", [], False),
    "num_threads": ("_ZN2at15get_num_threadsEv", I32, [], False),
    "in_parallel_region": ("_ZN2at18in_parallel_regionEv", "zeroext i1", [], False),
    "storage_incref_pyobject": ("_ZNK3c1011StorageImpl15incref_pyobjectEv", VOID, [PTR], False),
    "storage_decref_pyobject": ("_ZNK3c1011StorageImpl15decref_pyobjectEv", VOID, [PTR], False),
}
UNDEFINED = "_ZN3c1019UndefinedTensorImpl10_singletonE"
BLAS = ("sgemm_", "dgemm_")


class Base:
    """The module being written, with outside functions as attributes: `base.py("PyTuple_New")`,
    `base.torch("wrap")`."""

    def __init__(self, layout: Layout, fresh: FreshLayout | None, vector_bytes: int):
        self.m = Module()
        self.o = layout
        self.fresh = fresh
        self.vector_bytes = vector_bytes

    def c(self, name: str) -> Callee:
        for table in (PYTHON, LIBC, SHIM, OPENMP):
            if name in table:
                ret, params = table[name]
                return self.m.extern(name, ret, params)
        raise KeyError(name)

    def torch(self, name: str) -> Callee:
        symbol, ret, params, throws = TORCH[name]
        return self.m.extern(symbol, ret, params, throws)

    def own(self, name: str) -> Callee:
        """A function of this module that was written before."""
        return self.m.externs[name]

    def data(self, f: Function, name: str, words: int = 1) -> Value:
        return Value(f, PTR, self.m.global_(name, words))

    # ---------------------------------------------------------------- tensors
    def impl(self, f: Function, obj: Value) -> Value:
        """The TensorImpl behind a Python tensor."""
        return f.load(PTR, obj, self.o.handle)

    def sizes_strides(self, f: Function, impl: Value) -> tuple[Value, Value, Value]:
        """(ndim, pointer to sizes, pointer to strides)"""
        n = f.load(I64, impl, self.o.ndim)
        inline = n <= INLINE_DIMS
        far = f.load(PTR, impl, self.o.sizes)
        sizes = f.select(inline, impl + self.o.sizes, far, PTR)
        strides = f.select(inline, impl + self.o.strides, f.index(far, n), PTR)
        return n, sizes, strides

    def data_pointer(self, f: Function, impl: Value, itemsize: Value) -> Value:
        start = f.load(PTR, f.load(PTR, impl, self.o.storage), self.o.storage_data)
        return start + f.load(I64, impl, self.o.storage_offset) * itemsize


def emit_helpers(b: Base) -> None:
    """make_handle, fail, sizes: used by the steps."""
    m = b.m
    # A temporary at::Tensor over memory; the result goes to *out. Returns the shim's error code.
    with m.function("make_handle", I32, [("data", PTR), ("ndim", I64), ("sizes", PTR), ("strides", PTR), ("dtype", I64),
                                         ("out", PTR)], cold=True) as (f, data, ndim, sizes, strides, dtype, out):
        f.ret(f.call(b.c("aoti_torch_create_tensor_from_blob"), data, ndim, sizes, strides, 0, f.trunc(dtype, I32), 0,
                     0,
                     out))


def fail(f: Function, b: Base, frame: Value, code: int, message: Value | None = None) -> None:
    """Record what went wrong in the frame (the message is copied)."""
    from .records import FRAME

    f.store(code, frame, FRAME.code)
    if message is not None:
        f.store(f.call(b.c("strdup"), message), frame, FRAME.message)


__all__ = ["F32", "F64", "I1", "I8", "I16", "I32", "I64", "PTR", "UNLIKELY", "VOID", "Base", "emit_helpers", "fail"]
