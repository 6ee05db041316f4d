"""Slow, unreliable network between two sockets: a relay on this machine that cuts connections at random."""
import contextlib
import os
import random
import selectors
import socket
import threading
import time


def socket_name(address):
    if "/" in address:
        return socket.AF_UNIX, address
    host, port = address.rsplit(":", 1)
    return socket.AF_INET, (host, int(port))


class BadNetwork:
    """Relay from the address `at` to `to`: UNIX sockets, or 127.0.0.1:PORT. delay_s: latency each way. bytes_per_s: each way.
    cut_every_s: mean time between cuts; cuts: their maximum number. cut_behind: for each of the first connections, bytes (both ways
    together) after which it is cut; these precede the random cuts."""

    def __init__(self, at, to, delay_s=0.0, bytes_per_s=None, cut_every_s=None, cuts=0, cut_behind=(), seed=1):
        self.at, self.to = str(at), str(to)
        self.cut_behind = list(cut_behind)
        self.delay_s, self.bytes_per_s, self.cut_every_s, self.cuts_left = delay_s, bytes_per_s, cut_every_s, cuts
        self.random = random.Random(seed)
        self.cuts = 0
        self.carried = [0, 0]  # to the other side, back
        self.is_pulled = False  # nothing passes, and nobody is told
        self._stops = False
        family, name = socket_name(self.at)
        self._listener = socket.socket(family)
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.bind(name)
        self._listener.listen(16)
        self._listener.settimeout(0.1)
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stops = True
        self._thread.join()
        self._listener.close()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.at)

    def _serve(self):
        while not self._stops:
            try:
                near, _ = self._listener.accept()
            except TimeoutError:
                continue
            family, name = socket_name(self.to)
            far = socket.socket(family)
            try:
                far.connect(name)
            except OSError:
                near.close()
                far.close()
                continue
            self._relay(near, far)

    def _relay(self, near, far):
        """One connection, until a peer closes it or it is cut."""
        cut_at = None
        self._bytes_left = self.cut_behind.pop(0) if self.cut_behind else None
        if self._bytes_left is None and self.cut_every_s and self.cuts < self.cuts_left:
            cut_at = time.monotonic() + self.random.expovariate(1 / self.cut_every_s)
        ends = {near: far, far: near}
        under_way = {near: [], far: []}  # by where it comes from: when it is due, and the bytes
        free_at = {near: 0.0, far: 0.0}
        closed = set()
        with selectors.DefaultSelector() as selector, near, far:
            for end in ends:
                end.setblocking(False)
                selector.register(end, selectors.EVENT_READ)
            while not self._stops:
                now = time.monotonic()
                if (cut_at and now >= cut_at) or self._bytes_left == 0:
                    self.cuts += 1
                    return
                for source, sink in ends.items():
                    self._deliver(under_way[source], sink, now, 0 if source is near else 1)
                    if source in closed and not under_way[source]:
                        return
                for key, _ in selector.select(0.002):
                    source = key.fileobj
                    if self.is_pulled or len(under_way[source]) > 64:
                        continue
                    try:
                        data = source.recv(16384)
                    except OSError:
                        data = b""
                    if not data:
                        closed.add(source)
                        selector.unregister(source)
                        continue
                    begins = max(time.monotonic(), free_at[source])
                    free_at[source] = begins + (len(data) / self.bytes_per_s if self.bytes_per_s else 0)
                    under_way[source].append((free_at[source] + self.delay_s, data))

    def _deliver(self, waiting, sink, now, direction):
        while waiting and waiting[0][0] <= now and not self.is_pulled:
            due, data = waiting[0]
            try:
                sent = sink.send(data[:self._bytes_left])
            except BlockingIOError:
                return
            except OSError:
                waiting.clear()
                return
            self.carried[direction] += sent
            if self._bytes_left is not None:
                self._bytes_left -= sent
                if self._bytes_left == 0:
                    return
            if sent == len(data):
                waiting.pop(0)
            else:
                waiting[0] = (due, data[sent:])
