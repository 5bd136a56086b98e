"""See on the evening before class whether all will work: `make preflight`, as table.py says."""

from table import main

main()
