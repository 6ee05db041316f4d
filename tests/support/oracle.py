"""Reader of the oracle library's counts (oracle.c)."""
import dataclasses
import struct

_SLOT = struct.Struct("40sQQQ")
_NAMES = {"operator_new": "operator new", "operator_new_array": "operator new[]"}
_MAPPING = {"mmap", "mmap64", "munmap", "mremap"}


@dataclasses.dataclass
class Counts:
    functions: dict  # name -> (allocations, bytes), only where there were any
    mappings: dict
    frees: int

    @property
    def allocations(self):
        return sum(calls for calls, _ in self.functions.values())

    @property
    def allocated_bytes(self):
        return sum(size for _, size in self.functions.values())


def read(path):
    counts = Counts({}, {}, 0)
    with open(path, "rb") as file:
        for raw_name, calls, size, _ in _SLOT.iter_unpack(file.read()):
            name = raw_name.split(b"\0")[0].decode()
            if name == "free":
                counts.frees = calls
            elif name and calls:
                where = counts.mappings if name in _MAPPING else counts.functions
                where[_NAMES.get(name, name)] = (calls, size)
    return counts
