"""A daemon thread is in a C function, without the interpreter's lock, while the interpreter ends. It allocates there when its state was
released, and other contents are where that was."""
import ctypes
import os
import threading

libc = ctypes.CDLL(None)
for name in ("malloc", "fdopen"):
    getattr(libc, name).restype = ctypes.c_void_p
libc.getline.argtypes = [ctypes.c_void_p] * 3
libc.malloc.argtypes = [ctypes.c_size_t]
libc.memcpy.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]
readable, writable = os.pipe()
stream = libc.fdopen(readable, b"r")
line = ctypes.c_void_p(0)
size = ctypes.c_size_t(0)
threading.Thread(target=libc.getline, args=(ctypes.byref(line), ctypes.byref(size), stream), daemon=True).start()


class Late:
    def __del__(self, malloc=libc.malloc, copy=libc.memcpy, write=os.write, wait=libc.usleep):
        contents = (0x111111111110).to_bytes(8, "little") * 150
        for size in range(200, 1200, 8):
            for _ in range(8):
                copy(malloc(size), contents, size)
        write(writable, b"x" * 60000 + b"\n")
        wait(100000)


late = Late()
