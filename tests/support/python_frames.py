"""A program that allocates in as many ways of calling Python as there are, and writes down each time what Python itself says of its stack.

python3 python_frames.py LIBRARY OUT: the library's take_block(bytes) allocates. OUT gets a list of [bytes, frames]; frames are
[function, file, line], innermost first. Runs on Python 3.9 to 3.13."""
import ctypes
import functools
import json
import pathlib
import sys
import tempfile
import threading
import types
import weakref

library = ctypes.PyDLL(sys.argv[1])  # with the interpreter's lock
library.take_block.argtypes = [ctypes.c_size_t]
library.take_block.restype = ctypes.c_void_p
taken = []
next_size = 1000
lock = threading.Lock()


def name_of(code):
    return getattr(code, "co_qualname", code.co_name)


def stack_of(frame):
    frames = []
    while frame is not None:
        line = frame.f_lineno if frame.f_lineno is not None else frame.f_code.co_firstlineno
        frames.append([name_of(frame.f_code), frame.f_code.co_filename, line])
        frame = frame.f_back
    return frames


def take():
    global next_size
    with lock:
        next_size += 16
        size = next_size
    taken.append([size, stack_of(sys._getframe())]); library.take_block(size)
    return size


class Meta(type):
    def __new__(cls, name, bases, members):
        take()
        return super().__new__(cls, name, bases, members)

    def __call__(cls, *arguments):
        take()
        return super().__call__(*arguments)


class Thing(metaclass=Meta):
    take()

    def __init__(self):
        take()
        super().__init__()

    def __del__(self):
        take()

    def __getattr__(self, name):
        take()
        return name

    @property
    def value(self):
        return take()

    @staticmethod
    def static():
        take()

    @classmethod
    def of_class(cls):
        take()

    def __getitem__(self, index):
        take()
        return index

    def __enter__(self):
        take()
        return self

    def __exit__(self, *unused):
        take()

    def __lt__(self, other):
        take()
        return id(self) < id(other)

    def __hash__(self):
        return take()

    def __eq__(self, other):
        take()
        return self is other


def objects():
    thing = Thing()
    thing.unknown
    thing.value
    Thing.static()
    Thing.of_class()
    for _ in range(40):  # specialized by now
        thing[1]
    with thing:
        take()
    sorted([Thing(), Thing(), Thing()])
    {thing: 1, Thing(): 2}
    cycle = Thing()
    cycle.self = cycle
    del thing, cycle
    import gc
    gc.collect()
    weak = Thing()
    reference = weakref.ref(weak, lambda _: take())
    del weak
    return reference


def numbers(count):
    for i in range(count):
        take()
        yield i
        take()


def delegating():
    got = yield from numbers(3)
    take()
    return got


def generators():
    for _ in delegating():
        take()
    list(numbers(3))
    sum(take() and x for x in numbers(2))
    [take() for _ in range(3)]
    {take(): take() for _ in range(2)}
    generator = numbers(5)
    next(generator)
    try:
        generator.throw(KeyError("x"))
    except KeyError:
        take()
    sender = (lambda: (yield take()))()
    next(sender)
    try:
        sender.send(1)
    except StopIteration:
        take()
    unfinished = delegating()
    next(unfinished)
    unfinished.close()


async def inner():
    take()
    return 1


async def outer():
    async def agen():
        yield take()
        take()

    await inner()
    async for _ in agen():
        take()
    return [await inner() async for _ in agen()]


def coroutines():
    import asyncio
    asyncio.run(outer())


def by_native_code():
    list(map(lambda _: take(), range(3)))
    sorted(range(4), key=lambda x: (take(), x)[1])
    functools.reduce(lambda a, b: take(), range(3))
    functools.partial(take)()
    functools.lru_cache(take)()
    max([1, 2], key=lambda x: take())
    compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))

    @compare
    def by_value(a, b):
        take()
        return a[0] - b[0]

    values = (ctypes.c_int * 5)(5, 3, 4, 1, 2)
    ctypes.CDLL(None).qsort(values, 5, ctypes.sizeof(ctypes.c_int), by_value)


def raising(depth):
    if depth == 0:
        take()
        raise ValueError("deep")
    try:
        raising(depth - 1)
    finally:
        take()


def exceptions():
    try:
        raising(5)
    except ValueError as error:
        take()
        error.__traceback__
    try:
        1 / 0
    except ZeroDivisionError:
        take()
    else:
        assert False


def deep(depth):
    if depth == 0:
        return take()
    return deep(depth - 1)


def deep_by_native_code(depth):
    if depth == 0:
        return take()
    return list(map(deep_by_native_code, [depth - 1]))


def generated():
    # Code objects that are released, and others in their places.
    for i in range(300):
        name = "generated_" + "x" * (i % 7)
        space = {"take": take}
        exec(compile("\n" * (i % 5) + f"def {name}():\n  take()\n{name}()", f"<made {i % 3}>", "exec"), space)
    eval("take()")
    exec("class Made:\n  take()\nMade()", {"take": take})
    exec(compile("def größe():\n  take()\ngröße()", "/straße/münze \u4e2d\u6587 \U0001f40d.py", "exec"), {"take": take})
    exec(compile("take()", "/" + "long/" * 60 + "file.py", "exec"), {"take": take})
    code = types.FunctionType(take.__code__.replace(co_firstlineno=90000), globals())
    code()


def imported():
    with tempfile.TemporaryDirectory() as directory:
        pathlib.Path(directory, "made_module.py").write_text(
            "import builtins\nbuiltins.frames_take()\ndef call():\n    for _ in range(2):\n        builtins.frames_take()\n")
        import builtins
        builtins.frames_take = take
        sys.path.insert(0, directory)
        import made_module
        made_module.call()


def long_function():
    x = 0
    x += 1; x += take()


    if x:



        take()
    (take(),
     take(),
     take())
    return [
        take()
        for _ in [1, 2]
    ] + [max(take(),
             take())]


def traced():
    def tracer(frame, event, argument):
        take()
        return tracer

    def small():
        a = 1
        return a

    sys.settrace(tracer)
    small()
    sys.settrace(None)
    sys.setprofile(lambda *unused: None)
    take()
    sys.setprofile(None)


def in_threads():
    def work():
        for _ in range(20):
            deep(5)
            deep_by_native_code(3)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def main():
    sys.setrecursionlimit(3000)
    take()
    for each in (objects, generators, coroutines, by_native_code, exceptions, generated, imported, long_function, traced, in_threads):
        each()
    deep(500)
    deep_by_native_code(50)
    (lambda: take())()
    pathlib.Path(sys.argv[2]).write_text(json.dumps(taken))


main()
