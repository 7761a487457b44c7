"""The one name of pytest that the suite uses, where pytest is not installed; run it with the path of a suite."""

import contextlib
import runpy
import sys


@contextlib.contextmanager
def raises(kind):
    try:
        yield
    except kind:
        return
    raise AssertionError(f"no {kind.__name__} was raised")


def main(path):
    sys.modules["pytest"] = sys.modules["__main__"]
    passed, failed = 0, []
    for name, test in runpy.run_path(path).items():
        if name.startswith("test_") and callable(test):
            try:
                test()
                passed += 1
            except Exception as problem:
                failed.append(f"{name}: {type(problem).__name__}: {problem}")
    print(f"{passed} passed, {len(failed)} failed")
    print(*failed, sep="\n", end="\n" if failed else "")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
