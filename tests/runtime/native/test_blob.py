"""Words of a table are 64 bits, however their sign is read."""

from pellucid.runtime.native.table import Blob


def test_unsigned_words_of_memory():
    blob = Blob(1)
    at = blob.add([1 << 63, (1 << 64) - 1, -1, (1 << 63) - 1])
    words, _ = blob.place()
    assert at == 8 and list(words) == [0, -(1 << 63), -1, -1, (1 << 63) - 1]
