"""The ways into the engine: the library in this process, or the program beside it."""

import ctypes
import inspect
import json
import os
import shutil
import subprocess
import sys
import threading

_HERE = os.path.dirname(os.path.abspath(__file__))
_NAMES = {"darwin": "libpare.dylib", "win32": "pare.dll"}


class PareError(ValueError):
    """Why a call has no result. type is unreadable, options, window_too_small, unknown_model, …"""

    def __init__(self, error):
        super().__init__(error["message"])
        self.type = error["type"]
        self.details = error


_COUNT = ctypes.CFUNCTYPE(ctypes.c_longlong, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
_TEXT = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.POINTER(ctypes.c_size_t))


class _Callbacks(ctypes.Structure):
    _fields_ = [("user", ctypes.c_void_p), ("count", _COUNT), ("rule", _TEXT), ("summarize", _TEXT)]


class _Result(ctypes.Structure):
    _fields_ = [(name, kind) for text in ("body", "report", "error") for name, kind in ((text, ctypes.c_void_p), (text + "_len", ctypes.c_size_t))]


class Library:
    """The C library, in this process."""

    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        self.lib.pare_call.argtypes = [
            ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, ctypes.POINTER(_Callbacks), ctypes.POINTER(_Result),
        ]
        self.lib.pare_free.argtypes = [ctypes.POINTER(_Result)]
        self.lib.pare_free.restype = None
        self.lib.pare_alloc.argtypes = [ctypes.c_size_t]
        self.lib.pare_alloc.restype = ctypes.c_void_p
        self.pid = os.getpid()

    def call(self, name, body, options, callbacks):
        raised = []
        asked = _Callbacks(None, *(self._wrap(kind, callbacks.get(kind), raised) for kind in ("count", "rule", "summarize"))) if callbacks else None
        result = _Result()
        failed = self.lib.pare_call(name.encode(), body, len(body), options, len(options), asked, result)
        try:
            if raised:
                raise raised[0]
            if failed:
                raise PareError(json.loads(ctypes.string_at(result.error, result.error_len)))
            return tuple(ctypes.string_at(at, size) if at else None for at, size in ((result.body, result.body_len), (result.report, result.report_len)))
        finally:
            self.lib.pare_free(result)

    def _wrap(self, kind, function, raised):
        """A function as C calls it. What it raises is kept for the caller: it cannot pass through C."""
        if function is None:
            return (_COUNT if kind == "count" else _TEXT)()

        def count(_, text, size):
            try:
                return int(function(ctypes.string_at(text, size).decode("utf-8", "replace") if size else ""))
            except BaseException as problem:  # a keyboard interrupt, too
                raised.append(problem)
                return -1

        def text(_, given, size, answer_size):
            try:
                answer = function(json.loads(ctypes.string_at(given, size)))
                if inspect.iscoroutine(answer):
                    answer.close()
                    raise TypeError(f"{kind} is an async function, and a callback answers at once: await first, and give what it came to, such as summary")
                if kind == "summarize" and not isinstance(answer, str):
                    raise TypeError(f"summarize returns a text, not {type(answer).__name__}")
                answer = (answer if isinstance(answer, str) else json.dumps(list(answer))).encode()
            except BaseException as problem:
                raised.append(problem)
                return None
            at = self.lib.pare_alloc(len(answer))
            ctypes.memmove(at, answer, len(answer))
            answer_size[0] = len(answer)
            return at

        return _COUNT(count) if kind == "count" else _TEXT(text)


class Program:
    """pare --lines, beside this process: a line for each call."""

    def __init__(self, path):
        self.process = subprocess.Popen([path, "--lines"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.lock = threading.Lock()
        self.pid = os.getpid()

    def call(self, name, body, options, callbacks):
        if callbacks:
            raise PareError({"type": "callback", "message": "callbacks need the library, which this package lacks or could not load: a wheel for this system brings it, and summary=… needs no callback"})
        line = b'{"call":"%s","options":%s,"body":%s}\n' % (name.encode(), options or b"{}", body.replace(b"\n", b" ").replace(b"\r", b" "))
        with self.lock:
            self.process.stdin.write(line)
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        if not answer:
            raise PareError({"type": "failed", "message": "pare --lines has ended"})
        try:
            return _answered(answer)
        except PareError:
            try:
                json.loads(body)
            except ValueError as why:  # the program sees a line that is broken
                raise PareError({"type": "unreadable", "message": f"invalid JSON: {why}"}) from None
            raise


def _answered(answer):
    """The parts of an answer. The body, which is taken as it is, stands last."""
    prefix = b'{"body_bytes":'
    if answer.startswith(prefix):
        size, _, rest = answer[len(prefix):].partition(b',"report":')
        rest = rest.rstrip()[:-1]
        size = int(size)
        return rest[-size:], rest[: -size - len(b',"body":')]
    tree = json.loads(answer)
    if "error" in tree:
        raise PareError(tree["error"])
    report = tree["report"]
    return None, None if report is None else json.dumps(report).encode()


_engine = None
_lock = threading.Lock()


def program():
    """The program: PARE_PROGRAM, the one in this package, or the one in PATH; None if there is none."""
    beside = os.path.join(_HERE, "pare.exe" if os.name == "nt" else "pare")
    return os.environ.get("PARE_PROGRAM") or (beside if os.path.exists(beside) else shutil.which("pare"))


def _open():
    """The library that lies beside this file, or PARE_LIBRARY; else the program in PARE_PROGRAM or PATH.
    In a child of fork the library is of no use, so that the program takes its place."""
    global _engine
    with _lock:
        if _engine is not None and _engine.pid == os.getpid():
            return _engine
        forked = _engine is not None
        path = os.environ.get("PARE_LIBRARY") or os.path.join(_HERE, _NAMES.get(sys.platform, "libpare.so"))
        if os.path.exists(path) and not forked:
            try:
                _engine = Library(path)
                return _engine
            except OSError:
                pass  # of another system, or another libc
        found = program()
        if found is None:
            why = "a forked process cannot use the library" if forked else "there is no library at " + path
            raise PareError({"type": "failed", "message": why + ", and no pare in PATH: install it, or start processes with spawn"})
        _engine = Program(found)
        return _engine


def call(name, body, options, **callbacks):
    """Does a call: (body or None, report or None), both as bytes."""
    callbacks = {kind: function for kind, function in callbacks.items() if function is not None}
    raw = json.dumps(options).encode() if options else b""
    return _open().call(name, body, raw, callbacks)
