"""The command line: one file a subcommand."""

from __future__ import annotations

import click

from .demo import demo
from .env import env
from .inspect import COMMANDS


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="pellucid")
def main() -> None:
    """pellucid: a model compiler for PyTorch that you can see through."""


main.add_command(demo)
main.add_command(env)
for command in COMMANDS:
    main.add_command(command)
