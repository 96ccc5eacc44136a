from dragoman.cli.main import run

run()
