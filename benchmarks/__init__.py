"""Scripts that measure the program: how right, how fast and how large. README.md lists them."""
