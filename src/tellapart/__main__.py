"""`python -m tellapart`, for those whose shell does not find the command."""

from .cli import main

main()
