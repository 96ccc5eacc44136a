"""What `dragoman demo` can show: one file a demo, each with a function `play`."""
