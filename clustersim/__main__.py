"""`python -m clustersim`: the same as the command `clustersim`."""

from clustersim.cli import main

if __name__ == "__main__":
    main(prog_name="clustersim")
