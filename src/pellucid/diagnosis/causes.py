"""The catalogue of causes: story, title, what helps, what to measure next, and what the evidence does not show."""

from __future__ import annotations

from dataclasses import dataclass

BREAK, CHURN, STABLE = "break", "guard failure", "stable"
STORIES = {
    BREAK: "an operation divides the capture: its cost is how often it is crossed, and what either side loses",
    CHURN: "a guard fails, so a valid region is compiled again: its cost is the repeated compile time",
    STABLE: "the graph is whole and stays valid: what bounds it is something else",
}


@dataclass(frozen=True, slots=True)
class Cause:
    code: str
    story: str
    title: str
    remedy: str
    measure: str
    not_shown: str


CAUSES: dict[str, Cause] = {}


def _add(code: str, story: str, title: str, remedy: str, measure: str, not_shown: str) -> None:
    CAUSES[code] = Cause(code, story, title, remedy, measure, not_shown)


_COST = "that the break is what makes the program slow: compare the warm time of the edited version"
_AGAIN = "pellucid.attempt(before, after, calls): breaks, warm time and results of both versions in one run"
_ONCE = "pellucid.attempt(before, after, calls) over the same calls: compiles and the time of the slowest call"
_VALUES = "that other calls in production bring the same values: record the arguments there"

_add("print", BREAK, "printing in the hot path",
     "print after the call, or only every so many calls outside the compiled function", _AGAIN, _COST)
_add("logging", BREAK, "logging in the hot path", "log after the call, outside the compiled function", _AGAIN, _COST)
_add("item-in-condition", BREAK, "a tensor's value decides a branch (.item() in a condition)",
     "compute both sides and choose with torch.where, or decide on a Python value known before the call", _AGAIN, _COST)
_add("data-branch", BREAK, "a branch on a tensor's value",
     "compute both sides and choose with torch.where, or torch.cond where a side is expensive", _AGAIN, _COST)
_add("item", BREAK, "a tensor's value is read by Python",
     "keep the value a tensor, or read it after the call", _AGAIN, _COST)
_add("data-shape", BREAK, "a result whose shape depends on the data",
     "keep the shape fixed: mask with torch.where instead of selecting", _AGAIN, _COST)
_add("c-function", BREAK, "a C function that capture cannot look into",
     "call it before or after, and pass its result as an argument", _AGAIN, _COST)
_add("random", BREAK, "Python's random numbers decide inside the function",
     "draw outside and pass the number in, or use torch.rand inside the graph", _AGAIN, _COST)
_add("other-break", BREAK, "an operation that cannot be captured", "see the break's own remedy", _AGAIN, _COST)

_add("shapes-few", CHURN, "a small set of shapes, compiled one by one",
     "let the size be symbolic (drop dynamic=False, or mark_dynamic), or compile all versions at start",
     _ONCE, _VALUES)
_add("shapes-many", CHURN, "ever new shapes, each compiled",
     "let the size be symbolic: drop dynamic=False, or mark_dynamic(x, dim); where the program itself fixes the size, "
     "pad to a few sizes (options={'buckets': ...})", _ONCE, _VALUES)
_add("layout", CHURN, "the strides of an input change", "make the input contiguous before the call", _ONCE, _VALUES)
_add("dtype", CHURN, "the dtype of an input changes", "convert before the call, or keep one version for each dtype",
     _ONCE, _VALUES)
_add("rank", CHURN, "the number of dimensions of an input changes", "bring inputs to one rank before the call", _ONCE,
     _VALUES)
_add("grad-mode", CHURN, "grad mode or requires_grad flips between calls",
     "call under one grad mode, or have one compiled function for training and one for evaluation", _ONCE, _VALUES)
_add("counter", CHURN, "a counter attribute is part of the computation",
     "keep the counter outside the compiled function, or make it a tensor buffer", _ONCE, _VALUES)
_add("float", CHURN, "a Python float changes from call to call", "pass it as a tensor of no dimensions", _ONCE, _VALUES)
_add("int", CHURN, "a Python integer changes from call to call",
     "let the operation that fixes it work on a tensor, or pass the number as a tensor", _ONCE, _VALUES)
_add("dict-key", CHURN, "a dictionary or list is indexed by a number that changes",
     "pass the value instead of its key, or stack the values in one tensor and index that", _ONCE, _VALUES)
_add("keys", CHURN, "the keys of a dictionary change", "give the function a dictionary with the same keys in each call",
     _ONCE, _VALUES)
_add("list-length", CHURN, "the length of a list changes", "stack the list to one tensor before the call, or pad it",
     _ONCE, _VALUES)
_add("closure", CHURN, "a function made anew is passed or called",
     "define the function once, outside, and pass what changes as an argument", _ONCE, _VALUES)
_add("string", CHURN, "a string or flag changes from call to call",
     "decide outside, and compile one function for each choice", _ONCE, _VALUES)
_add("global-value", CHURN, "a global that the function reads changes", "pass it as an argument", _ONCE, _VALUES)
_add("compile-in-loop", CHURN, "the function is compiled anew in each call",
     "compile once, at the top of the module, and call the result", _ONCE, _VALUES)
_add("mode-flip", CHURN, "train() and eval() alternate", "keep one compiled module for each mode", _ONCE, _VALUES)
_add("after-break", CHURN, "the value that a break hands to Python is guarded behind it",
     "remove the break: with it this guard goes", _ONCE, _VALUES)
_add("other-guard", CHURN, "a guard fails", "keep the named value the same in all calls, or pass it as a tensor", _ONCE,
     _VALUES)

_NEXT = "the time of the whole program, and what share of it this function is"
_add("cold-not-paid", STABLE, "the first call costs more than all later calls win",
     "do not compile what is called so seldom, or let one process live longer", "how often one process calls it",
     "how often production calls it in one process")
_add("tiny", STABLE, "a tiny function: the call itself is most of the time",
     "compile the function that calls it in a loop, or batch the calls", _NEXT, "what the caller spends around it")
_add("library-bound", STABLE, "most of the time is in library kernels (matrix product, convolution, attention)",
     "change the work: smaller dtype, better shapes, fewer products; a compiler only fuses what lies between",
     "a run in bfloat16, and torch.set_num_threads", "that the library's kernel is the best one for these shapes")
_add("memory-bound", STABLE, "bound by reading and writing memory",
     "make tensors smaller (dtype, layout) or do less passes over them", "bytes of each kernel in pellucid.profile",
     "that the bytes could not be fewer")
_add("transfers", STABLE, "conversions and copies (.to()) in every call",
     "convert once, before the loop; build constants in the right dtype and on the right device",
     "the same program with inputs of the right dtype and device", "who needs the conversion")
_add("outside", STABLE, "the time is outside torch: loading data, or plain Python",
     "speed up or overlap what is named (prefetch, worker processes); compiling cannot reach it",
     "the loader alone, without the model", "why it takes that long")
_add("benchmark-cold", STABLE, "the benchmark times the first call, which compiles",
     "make a few calls before the clock starts", "pellucid.bench, which refuses a run with a compile in it",
     "that the function is slow: its warm time is another number")
_add("benchmark-no-sync", STABLE, "the benchmark reads the clock without waiting for the device",
     "torch.cuda.synchronize() before each reading of the clock", "pellucid.bench, which synchronises",
     "any time of the device: what is measured is how fast work is queued")
_add("overhead-bound", STABLE, "time outside kernels is most of the call",
     "make the compiled function larger: compile what calls it", _NEXT, "what the caller spends around it")
_add("faster", STABLE, "it is faster than eager: nothing to mend", "none needed", _NEXT,
     "that the program as a whole is faster")
_add("no-difference", STABLE, "one whole graph, no recompiles, and no difference to eager",
     "look at pellucid.profile for the largest kernel", _NEXT, "that a difference would show with more samples")
