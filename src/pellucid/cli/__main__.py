"""`python -m pellucid.cli`: the command line without an installed script."""

from . import main

main(prog_name="pellucid")
