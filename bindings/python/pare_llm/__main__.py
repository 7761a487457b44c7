"""Runs the program, as in: uvx pare-llm doctor."""

import os
import subprocess
import sys

from ._engine import program


def main():
    path = program()
    if path is None:
        sys.exit("pare-llm: this package has no program for your system, and there is no pare in PATH")
    if os.name != "nt":
        os.execv(path, [path, *sys.argv[1:]])
    sys.exit(subprocess.call([path, *sys.argv[1:]]))


if __name__ == "__main__":
    main()
