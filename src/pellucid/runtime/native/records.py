"""The layout of the tables that native code reads: one name a field, each an 8-byte word."""

from __future__ import annotations


class Record:
    """Byte offsets of a record's fields, as attributes, and its `size`."""

    size: int

    def __init__(self, *fields: str):
        self.fields = fields
        for i, name in enumerate(fields):
            setattr(self, name, 8 * i)
        self.size = 8 * len(fields)

    def __getattr__(self, name: str) -> int:
        raise AttributeError(name)

    def words(self, **values: int) -> list[int]:
        """The record's words; fields that are not named are 0."""
        unknown = set(values) - set(self.fields)
        if unknown:
            raise ValueError(f"unknown fields {sorted(unknown)}")
        return [values.get(f, 0) for f in self.fields]


PLAN = Record(
    "inputs", "input_records",            # number of arguments, INPUT records
    "reads", "read_records",              # READ records
    "buffers",                            # length of the frame's table of data pointers
    "values", "constants", "dynamic",     # length of the value table; its contents before a call; whether it changes
    "symbols", "symbol_records",          # SYMBOL records
    "program", "program_records",         # SIZE_OP records
    "conditions", "condition_records",    # CONDITION records
    "places", "place_records",            # PLACE records
    "arena_bytes",                        # value: bytes of the arena frame
    "fixed",                              # FIXED records: constant addresses (count, then records)
    "fixed_records",
    "news", "new_records",                # NEW records: outputs to allocate
    "steps", "step_words",                # number of steps; their words, one after the other
    "commits", "commit_records", "writes",  # writes 1: there are commits, or steps write to inputs
    "outputs", "output_records",          # OUTPUT records
    "scratch",                            # words of a list that holds a kernel's pointers, and later the results
    "kept",                               # most tensor handles that externs may leave until the end of the call
    "frame_bytes",                        # bytes of stack that a call needs for its tables (FRAME and what follows it)
    "stack_arena",                        # bytes of the arena frame if it lies behind the tables on the stack, else 0
    "release",                            # 1: the GIL is released while steps run
    "hold",                               # 1: inputs are held while steps run (they may run Python, or others may)
    "single",                             # 1: the only output is returned itself, not a tuple
    "owner",                              # the object that keeps everything named here alive
    "error_type",                         # class of errors raised (StepFailed)
    "runs",                               # calls completed
)

READ = Record("kind", "argument", "buffer", "itemsize", "value")
"""An argument that is read in each call. kind: of a tensor the data pointer (READ_TENSOR; READ_WRITTEN by torch's
shim, which copies what is shared until written), of an integer the value"""
READ_TENSOR, READ_WRITTEN, READ_INTEGER = range(3)
INPUT = Record("kind", "buffer", "itemsize", "dtype", "ndim", "shape", "value", "written")
"""kind 0: tensor (shape points to ndim sizes then ndim strides, -1 = free); 1: an int whose value goes to `value`."""
SYMBOL = Record("input", "dim", "value")
SIZE_OP = Record("op", "to", "a", "b")
CONDITION = Record("op", "a", "b")
PLACE = Record("buffer", "offset")
FIXED = Record("buffer", "address")
NEW = Record("buffer", "number", "dtype", "ndim", "shape", "strides", "adopted", "image")
"""shape, strides: numbers of the first of ndim values that follow each other. number: slot among the new tensors.
image: address of an IMAGE of a small tensor whose sizes are constant, else 0"""
IMAGE = Record("impl", "impl_bytes", "storage", "storage_bytes", "version", "version_bytes", "data_bytes")
"""Addresses and lengths of the bytes of a new tensor's objects (torchdoor/fresh.py)"""
OUTPUT = Record("kind", "number", "ndim", "shape", "strides", "offset")
"""kind: NEW_TENSOR (slot number), INPUT_ITSELF, OUTPUT_ITSELF, INPUT_VIEW, OUTPUT_VIEW, NEW_VIEW"""
NEW_TENSOR, INPUT_ITSELF, OUTPUT_ITSELF, INPUT_VIEW, OUTPUT_VIEW, NEW_VIEW = range(6)
COMMIT = Record("input", "buffer", "dtype", "ndim", "shape", "strides")

FRAME = Record(
    "plan", "args", "buffers", "values", "news", "kept", "kept_count", "storages", "arena", "chunk", "arena_used",
    "status", "step", "message", "code", "threads", "scratch", "held",
)
"""A call's state on the stack; `buffers`, `values`, `news`, `kept`, `storages` point to arrays behind it."""

# What went wrong, in FRAME.code.
FINE, CONDITION_FAILED, INDEX_FAILED, CPP_ERROR, PYTHON_ERROR, BAD_ARGUMENT, NO_MEMORY = range(7)

# Operations on values, in SIZE_OP.op and CONDITION.op.
SIZE_OPS = {"add": 0, "sub": 1, "mul": 2, "floordiv": 3, "mod": 4, "min": 5, "max": 6, "copy": 7}
CONDITION_OPS = {"==": 0, "!=": 1, "<": 2, "<=": 3}

# Steps: word 0 is the opcode, word 1 the number of words.
STEP_KERNEL, STEP_GEMM, STEP_CALL, STEP_PYTHON = 1, 2, 3, 4
KERNEL_STEP = Record("op", "words", "function", "buffers", "sizes", "extent", "grain", "can_raise")
"""followed by the kernel's buffer numbers"""
GEMM_STEP = Record(
    "op", "words", "function", "itemsize", "double", "m", "n", "k", "batch",
    "a", "a_offset", "a_batch", "lda", "trans_a", "b", "b_offset", "b_batch", "ldb", "trans_b",
    "c", "c_offset", "c_batch", "ldc", "bias", "bias_offset", "bias_batch", "bias_row", "bias_column", "alpha", "dot",
)
"""C (m x n, n contiguous) = alpha * A @ B + bias. Offsets, strides and sizes are value numbers; alpha the bits of a
double; bias -1: none; dot 1: B's columns are contiguous, so that m == 1 can run as dot products of B's columns."""
CALL_STEP = Record("op", "words", "function", "handles", "integers", "returns", "doubles")
"""followed by HANDLE records, INTEGER records, RETURN records and the doubles' bits"""
HANDLE = Record("buffer", "offset", "ndim", "shape", "strides", "dtype", "itemsize", "input")
"""input: number of the graph input that is this very tensor, or -1: a temporary tensor over the memory is made"""
INTEGER = Record("kind", "payload")
"""kind: VALUE (values[payload]), TENSOR (handle payload), TENSOR_POINTER, VALUES_POINTER, RETURN_POINTER, RAW"""
VALUE, TENSOR, TENSOR_POINTER, VALUES_POINTER, RETURN_POINTER, RAW = range(6)
RETURN = Record("buffer", "offset", "ndim", "shape", "strides", "dtype", "itemsize", "new", "adopt")
"""What to do with a returned tensor: nothing if buffer is -1; with `adopt`, take its memory as the buffer (and, where
new >= 0, itself as that new tensor); else copy it into the buffer."""
PYTHON_STEP = Record("op", "words", "function", "ins", "outs")
"""followed by HANDLE records of ins and outs; function(ins tuple, outs tuple)"""

# ------------------------------------------------------------------ calls of a compiled callable
CALL = Record(
    "params",            # registers 0..params-1 are the parameters in frame order
    "first", "limit",    # positional arguments go to parameters first .. limit - 1
    "names", "defaults",  # per parameter: the name for keywords (or 0), the default (or 0)
    "varargs", "varkw",  # parameter numbers of *args and **kwargs, or -1
    "receiver",          # object that is parameter 0, or 0
    "slow", "snapshot", "fast_calls", "slow_calls",
)
SNAPSHOT = Record("owner", "entries", "entry_pointers", "registers", "inputs", "outputs", "depth", "frame_bytes",
                  "stack_bytes")
ENTRY = Record(
    "hits", "probes", "probe_records", "checks", "replaced", "owned", "owned_records", "words", "word_records",
    "blocks", "block_records", "dicts", "dict_events", "dict_pointers", "dict_tags", "dict_records", "python_check",
    "plan", "inputs", "input_template", "fills", "fill_records", "result", "result_records",
    "result_kind", "finish", "registers", "stale",
)
"""replaced: the count of assignments to `__class__` and `__dict__` at which the owned words and the dictionaries' slots
were looked at last. dict_events: the count of changes to watched dictionaries at which the tags were. dict_pointers,
dict_tags: the dictionaries and the version tags at which their keys held"""
PROBE = Record("function", "argument", "offset", "mask", "expected")
"""offset -1: the function's result is the word itself"""
WORD = Record("address", "mask", "expected")
OWNED = Record("address", "expected")
BLOCK_WORDS = 15
BLOCK = Record("object", "impl", "layout")
"""A tensor's identity, and the LAYOUT that it has, which equal tensors share"""
LAYOUT = Record(*(f"w{i}" for i in range(BLOCK_WORDS)), "requires_grad", *(f"m{i}" for i in range(BLOCK_WORDS)))
"""A TensorImpl's words up to its dispatch keys, and masks of what is compared (sizes beyond its dimensions hold
anything); requires_grad 2: not compared"""
DICT = Record("slot", "keys", "key_records", "used", "ordered")
"""slot: address of an object's pointer to the dict, or 0. When the dict's version tag has changed, the keys are
compared one by one and the new tag kept. used: its length, or -1. ordered: the keys are all it has, in this order."""
KEY = Record("key", "hash", "value")
"""value 0: absent; 1: anything"""
FILL = Record("input", "register")

(CHECK_END, CHECK_TENSOR, CHECK_TYPE, CHECK_IS, CHECK_INT, CHECK_RANGE, CHECK_FLOAT, CHECK_TEXT, CHECK_LENGTH,
 CHECK_ITEM,
 CHECK_LIST_ITEM, CHECK_DICT_ITEM, CHECK_DICT_ABSENT, CHECK_INSTANCE_DICT, CHECK_SAME, CHECK_CONSTANT, CHECK_CELL,
 CHECK_KEYS, CHECK_OVERLAP) = range(19)
CHECK = Record("op", "words", "register", "a", "b", "c")
"""One condition on a register, or a load into register `a`; a failed one means that the entry does not fit."""
TENSOR_CHECK = Record("op", "words", "register", "type", "keyset", "dtype", "ndim", "requires_grad", "contiguous")
"""followed by ndim sizes and ndim strides, -1 = free; requires_grad 2: not asked; contiguous 1: for whatever sizes"""

RESULT_NONE, RESULT_OUTPUT, RESULT_RECIPE, RESULT_FINISH = range(4)
PUSH_OUTPUT, PUSH_REGISTER, PUSH_CONSTANT, PUSH_VALUE, MAKE_TUPLE, MAKE_LIST, MAKE_DICT = range(7)
BUILD = Record("op", "operand")
