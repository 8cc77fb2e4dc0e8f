"""The command line: a skin over the library."""


def main() -> None:
    """Run the command ``thalweg``."""
    from thalweg.cli.main import main as run

    run()
