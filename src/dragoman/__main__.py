"""The door of the command line: it minds streams and signals before anything slow is imported."""


def run() -> None:
    from dragoman.cli.surroundings import mind_signals, mind_streams

    mind_streams()
    mind_signals()
    from dragoman.cli.main import run as run_command

    run_command()


if __name__ == "__main__":
    run()
