"""``python -m windrow.cli``: the same as the command."""

from windrow.cli import main

if __name__ == "__main__":
    main()
