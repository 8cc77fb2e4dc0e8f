"""The command line: a thin skin over the library. Each command has a file; the registry names it."""


def main() -> None:
    """Run the command ``thalweg``."""
    from thalweg.cli.app import main as run

    run()
