"""``python -m nodusctl``: the same as the ``nodusctl`` program."""

from nodusctl.cli.main import main

if __name__ == "__main__":
    main()
