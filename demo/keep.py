"""Keeps every line of a file in a list that nothing empties."""
import sys

kept = [line.upper() for line in open(sys.argv[1], encoding="utf-8")]
print(len(kept), "lines kept")
